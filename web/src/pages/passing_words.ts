import { useEffect, useState } from 'react';

const longEnough = 12_000; // milliseconds to read a sentence

// Words about what has just been done; old news goes away by itself.
export function usePassingWords(): [string, (words: string) => void] {
  const [told, setTold] = useState({ words: '' });
  useEffect(() => {
    if (!told.words) return undefined;
    const timer = setTimeout(() => setTold({ words: '' }), longEnough);
    return () => clearTimeout(timer);
  }, [told]);
  return [told.words, (words) => setTold({ words })];
}
