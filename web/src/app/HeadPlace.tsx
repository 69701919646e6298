import { useEffect, useState, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { headPlace } from './App';

// What a page shows in the head of the page: its name, and what can be done with it.
export function HeadPlace({ children }: { children: ReactNode }) {
  const [place, setPlace] = useState<HTMLElement | null>(null);
  useEffect(() => setPlace(document.getElementById(headPlace)), []);
  return place && createPortal(children, place);
}
