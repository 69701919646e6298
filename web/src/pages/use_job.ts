import { useEffect, useRef, useState } from 'react';
import { ApiError, get, sentenceOf } from '../api/client';
import { listenToJob } from '../api/events';
import type { Job } from '../api/types';
import { JobNews } from './job_news';

const betweenDrawings = 120; // milliseconds; events may come by the thousand

export interface FollowedJob {
  job: Job | null;
  news: JobNews;
  version: number;
  error: string;
  isGone: boolean;
  put: (job: Job) => void;
  again: () => void; // after it was resumed: its events go on
}

// One job with all that its events tell, as they come.
export function useJob(id: string): FollowedJob {
  const [job, setJob] = useState<Job | null>(null);
  const [version, setVersion] = useState(0);
  const [error, setError] = useState('');
  const [isGone, setGone] = useState(false);
  const [turn, setTurn] = useState(0);
  const news = useRef(new JobNews());

  useEffect(() => {
    news.current = new JobNews();
    setJob(null);
    setVersion(0);
    setGone(false);
    setError('');
  }, [id]);

  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | null = null;
    news.current = new JobNews();
    const draw = () => {
      timer = null;
      if (!isOver) setVersion(news.current.version);
    };
    const look = async () => {
      try {
        const found = await get<Job>(`/api/training/jobs/${id}`);
        if (!isOver) setJob(found);
        if (!isOver) setError('');
      } catch (failure) {
        if (isOver) return;
        if (failure instanceof ApiError && failure.status === 404) setGone(true);
        else setError(sentenceOf(failure));
      }
    };
    void look();
    const stop = listenToJob(id, {
      onEvent: (event) => {
        news.current.take(event);
        if (event.name === 'removed') setGone(true);
        if (event.name === 'state') void look();
        timer ??= setTimeout(draw, betweenDrawings);
      },
      onEnd: () => void look(),
    });
    // What a queued job waits for changes without an event of its own.
    const often = setInterval(() => {
      const now = news.current.state;
      if (!document.hidden && (now === 'queued' || now === 'pending')) void look();
    }, 2000);
    return () => {
      isOver = true;
      clearInterval(often);
      if (timer) clearTimeout(timer);
      stop();
    };
  }, [id, turn]);

  const isOwn = job?.id === id;
  return { job: isOwn ? job : null, news: news.current, version, error, isGone, put: setJob, again: () => setTurn((before) => before + 1) };
}
