import { ApiError, ask } from './client';
import { EventText, type ServerEvent } from './event_text';

export type { ServerEvent } from './event_text';

const ends = new Set(['completed', 'failed', 'cancelled', 'paused']);
const longestWait = 5000;
const wait = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

export interface JobListener {
  onEvent: (event: ServerEvent) => void;
  onEnd?: () => void; // the job has ended, is paused or is gone; nothing more will come
  from?: string; // the id of the last event that is known already
}

// Tells the events of a job from its beginning, or from where the listener is, through lost connections and restarts
// of the service, each event once. What it returns stops it.
export function listenToJob(id: string, listener: JobListener): () => void {
  const stop = new AbortController();
  void listen(id, listener, stop.signal);
  return () => stop.abort();
}

async function listen(id: string, listener: JobListener, signal: AbortSignal): Promise<void> {
  let last = listener.from ?? '';
  let isOver = false;
  const take = (event: ServerEvent) => {
    if (event.id) last = event.id;
    isOver = event.name === 'removed' || (event.name === 'state' && ends.has(String(event.data.state)));
    if (event.name !== 'progress' || !isOver) listener.onEvent(event);
  };
  for (let pause = 250; !signal.aborted; pause = Math.min(longestWait, pause * 2)) {
    try {
      const headers: Record<string, string> = last ? { 'Last-Event-ID': last } : {};
      const answer = await ask('GET', `/api/training/jobs/${id}/events`, { headers, signal });
      const events = new EventText();
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) break;
        pause = 250;
        for (const event of events.add(value)) take(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && (error.status === 404 || error.status === 401)) isOver = true;
    }
    if (isOver) {
      listener.onEnd?.();
      return;
    }
    await wait(pause);
  }
}
