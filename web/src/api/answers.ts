import { useCallback, useEffect, useRef, useState } from 'react';
import { get, sentenceOf } from './client';

export interface Answer<Value> {
  value: Value | null; // of this path; an older one stays while it is asked for again
  error: string;
  isLoading: boolean;
  reload: () => void;
  set: (value: Value) => void;
}

// What the service answers to a path, asked for again every so many milliseconds while the page is in sight. No path: nothing.
export function useAnswer<Value>(path: string | null, every = 0): Answer<Value> {
  const [held, setHeld] = useState<{ path: string | null; value: Value | null; error: string }>({ path: null, value: null, error: '' });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const value = await get<Value>(path, stop.signal);
          setHeld({ path, value, error: '' });
        } catch (error) {
          if (stop.signal.aborted) return;
          setHeld((before) => ({ path, value: before.path === path ? before.value : null, error: sentenceOf(error) }));
        }
      }
      if (every > 0 && !stop.signal.aborted) timer = setTimeout(() => void ask(), every);
    };
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, every, turn]);
  const isOwn = held.path === path;
  return {
    value: isOwn ? held.value : null,
    error: isOwn ? held.error : '',
    isLoading: path !== null && !isOwn,
    reload: useCallback(() => setTurn((before) => before + 1), []),
    set: useCallback((value: Value) => setHeld({ path, value, error: '' }), [path]),
  };
}

// A value that follows another once that has rested: what a person types is asked for when they pause.
export function useRested<Value>(value: Value, milliseconds = 250): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return rested;
}

// Calls something every so many milliseconds while the page is in sight; the next call waits for the one before.
export function useEvery(milliseconds: number, call: () => Promise<void>) {
  const now = useRef(call);
  now.current = call;
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const again = async () => {
      if (!document.hidden) await now.current();
      if (!isOver) timer = setTimeout(() => void again(), milliseconds);
    };
    timer = setTimeout(() => void again(), milliseconds);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [milliseconds]);
}
