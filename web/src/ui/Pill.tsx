import { text } from '../text';

const looks: Record<string, string> = {
  completed: 'ok', done: 'ok', reused: 'ok', running: 'run', failed: 'bad',
};

// A state of a job or a card, in its word and colour.
export function Pill({ state }: { state: string }) {
  const words = text.states as Record<string, string>;
  return <span className={`pill ${looks[state] ?? ''}`}>{words[state] ?? state}</span>;
}
