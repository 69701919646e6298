import { useEffect, useRef } from 'react';
import { shared } from '../text/shared';

const isTyping = (target: EventTarget | null) => target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable);

// The field that filters a list; / goes to it from anywhere on the page, Escape empties it.
export function FindField({ value, onChange, placeholder = shared.find, label = shared.findLabel }: { value: string; onChange: (value: string) => void; placeholder?: string; label?: string }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const go = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener('keydown', go);
    return () => window.removeEventListener('keydown', go);
  }, []);
  return (
    <input
      ref={field} className="input find" type="search" value={value} placeholder={placeholder} aria-label={label}
      onChange={(event) => onChange(event.target.value)} onKeyDown={(event) => event.key === 'Escape' && onChange('')}
    />
  );
}
