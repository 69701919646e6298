import { useEffect, useState } from 'react';
import { ask, ApiError, sentenceOf } from '../api/client';

export interface TextAnswer {
  text: string | null;
  isMissing: boolean; // there is no such file
  error: string;
}

async function fetchText(path: string, signal: AbortSignal): Promise<TextAnswer> {
  try {
    return { text: await (await ask('GET', path, { signal })).text(), isMissing: false, error: '' };
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 404) return { text: null, isMissing: true, error: '' };
    return { text: null, isMissing: false, error: sentenceOf(failure) };
  }
}

const atOnce = 3; // a browser opens few connections to one service, and a stream of events may hold one

// The texts of several files, each as soon as it is there; again every so many milliseconds where that is asked for.
export function useTexts(paths: readonly string[], every = 0): readonly (TextAnswer | null)[] {
  const [texts, setTexts] = useState<{ key: string; answers: readonly (TextAnswer | null)[] }>({ key: '', answers: [] });
  const key = paths.join('\n');
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const all = key ? key.split('\n') : [];
    const fetchAll = async () => {
      let next = 0;
      const worker = async () => {
        for (let place = next++; place < all.length; place = next++) {
          const answer = await fetchText(all[place]!, stop.signal);
          if (stop.signal.aborted) return;
          setTexts((before) => {
            const answers = before.key === key ? [...before.answers] : all.map(() => null);
            answers[place] = answer;
            return { key, answers };
          });
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      if (every > 0 && !stop.signal.aborted) timer = setTimeout(() => void fetchAll(), every);
    };
    void fetchAll();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, every]);
  return texts.key === key ? texts.answers : paths.map(() => null);
}
