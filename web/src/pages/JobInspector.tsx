import { useState } from 'react';
import type { Job } from '../api/types';
import { Link } from '../app/router';
import { useSession } from '../app/session';
import { jobs } from '../text/jobs';
import { shared } from '../text/shared';
import { count, figure, short, time } from '../ui/format';
import { Facts, type Fact } from '../ui/Facts';
import { Meter } from '../ui/Meter';
import { Pill } from '../ui/Pill';
import { Tabs } from '../ui/Tabs';
import { moment, wholeMoment } from '../ui/when';
import { JobActions } from './JobActions';
import type { JobNews } from './job_news';
import { percentOf, sentenceOfReason, shareDone, wordsOfStop } from './job_rows';
import { MetricsTable } from './MetricsTable';
import { resultsOf, useMetrics } from '../api/metrics';
import type { FollowedJob } from './use_job';

type Tab = keyof typeof jobs.tabs;

interface SweepProgress {
  trainings?: number;
  total_trainings?: number;
  candidates?: number;
  best?: { trial: number; metric: string; score: number | null };
}

function Progressing({ job, news }: { job: Job; news: JobNews }) {
  const progress = news.progress ?? job.progress;
  if (job.state !== 'running' || !progress) return null;
  const sweep = progress as SweepProgress;
  const share = shareDone(progress);
  const words = progress.total_steps ? jobs.ofSteps(count(progress.step ?? 0), count(progress.total_steps))
    : sweep.total_trainings ? jobs.ofTrainings(count(sweep.trainings ?? 0), count(sweep.total_trainings))
      : progress.members ? jobs.ofMembers(count(progress.finished_members ?? 0), count(progress.members)) : '';
  const f = jobs.facts;
  const facts: (Fact | null)[] = [
    progress.card ? [f.card, progress.card] : null,
    progress.epoch ? [f.epoch, count(progress.epoch)] : null,
    typeof progress.train_loss === 'number' ? [f.trainLoss, figure(progress.train_loss)] : null,
    typeof progress.validation_loss === 'number' ? [f.validationLoss, figure(progress.validation_loss)] : null,
    progress.steps_per_second ? [f.rate, jobs.steps(short(progress.steps_per_second))] : null,
    progress.seconds_left ? [f.left, time(progress.seconds_left)] : null,
    sweep.best ? [f.best, jobs.bestTrial(sweep.best.trial, sweep.best.metric, figure(sweep.best.score))] : null,
  ];
  return (
    <section className="stack">
      {share !== null && <Meter label={words} share={share} value={percentOf(share)} />}
      <Facts facts={facts} />
    </section>
  );
}

function Reason({ reason }: { reason: string }) {
  const sentence = sentenceOfReason(reason);
  return (
    <div className="notice broken">
      <p role="alert">{sentence}</p>
      {sentence !== reason.trim() && <details><summary>{jobs.lastWords}</summary><pre className="reason" tabIndex={0} aria-label={jobs.lastWords}>{reason}</pre></details>}
    </div>
  );
}

function StateTab({ job, news }: { job: Job; news: JobNews }) {
  const f = jobs.facts;
  const me = useSession((state) => state.session?.name);
  const at = (iso: string | undefined) => (iso ? <span title={wholeMoment(iso)}>{moment(iso)}</span> : null);
  const notes = [...new Set([...(job.notes ?? []), ...news.notes.map((note) => note.message)])];
  return (
    <>
      {job.waits_for && <p className="notice plain">{f.waits} {job.waits_for}.</p>}
      {job.asked && <p className="notice plain" role="status">{f.asked} {jobs.askedWords[job.asked] ?? job.asked}.</p>}
      {job.reason && (job.state === 'failed' ? <Reason reason={job.reason} /> : <p className="notice plain broken" role="status">{wordsOfStop(job.reason, me, jobs.stopped)}</p>)}
      <Progressing job={job} news={news} />
      {news.cards.length > 0 && (
        <section>
          <h2>{jobs.cards}</h2>
          <ul className="plain-list">
            {news.cards.map((card) => (
              <li key={card.card} className="row"><span className="grow">{card.card}</span><span className="secondary num">{card.seconds === null ? '' : time(card.seconds)}</span><Pill state={card.state === 'running' && job.state !== 'running' ? job.state : card.state} /></li>
            ))}
          </ul>
        </section>
      )}
      {notes.length > 0 && (
        <section><h2>{shared.notes}</h2><ul className="plain-list">{notes.map((note) => <li key={note}>{note}</li>)}</ul></section>
      )}
      <section>
        <h2>{shared.details}</h2>
        <Facts facts={[
          [f.kind, jobs.kinds[job.kind] ?? job.kind],
          [f.created, at(job.created)], [f.started, at(job.started)], [f.ended, at(job.ended)],
          job.seconds_used ? [f.used, time(job.seconds_used)] : null,
          [f.device, job.device], job.slot ? [f.slot, job.slot] : null,
          job.priority ? [f.priority, job.priority] : null,
          (job.attempts ?? 0) > 1 ? [f.attempts, job.attempts] : null,
          job.time_limit ? [f.limit, time(job.time_limit)] : null,
          job.continues ? [f.continues, <Link href={`/jobs/${job.continues}`}>{job.continues.slice(0, 8)}</Link>] : null,
          job.document_version ? [f.version, count(job.document_version)] : null,
          [f.owner, job.owner],
        ]} />
      </section>
    </>
  );
}

function MetricsTab({ job }: { job: Job }) {
  const known = useMetrics();
  const summary = job.summary as { results?: unknown; winner?: { results?: unknown } } | undefined;
  const results = resultsOf(summary?.winner?.results ?? summary?.results, known);
  if (results.length === 0) return <p className="secondary">{jobs.noMetrics}</p>;
  return <>{results.map((result) => <MetricsTable key={result.card} result={result} />)}</>;
}

function LogTab({ news }: { news: JobNews }) {
  if (news.log.length === 0) return <p className="secondary">{jobs.noLog}</p>;
  return <pre className="log" tabIndex={0} aria-label={jobs.log}>{news.log.slice(-500).join('\n')}</pre>;
}

interface JobInspectorProps {
  followed: FollowedJob;
  onChange: (job: Job) => void;
  onRemoved: (id: string, words: string) => void;
}

export function JobInspector({ followed, onChange, onRemoved }: JobInspectorProps) {
  const [tab, setTab] = useState<Tab>('state');
  const { job, news, error, isGone } = followed;
  if (isGone) return <p>{jobs.gone}</p>;
  if (!job) return error ? <p className="notice" role="alert">{error}</p> : <p className="secondary">{shared.loading}</p>;
  const tabs = (Object.keys(jobs.tabs) as Tab[]).map((name) => ({ name, title: jobs.tabs[name] }));
  return (
    <>
      <div className="row"><h1 className="grow broken">{job.job_name}</h1><Pill state={job.state} /></div>
      <p className="secondary broken">{job.id}</p>
      <div className="row wrap links">
        {job.started && <Link href={`/runs/${job.run}`}>{jobs.actions.run}</Link>}
        {job.kind === 'sweep' && <Link href={`/sweeps/${job.id}`}>{jobs.actions.trials}</Link>}
        {job.document_id && <Link href={`/documents/${job.document_id}`}>{jobs.actions.canvas}</Link>}
      </div>
      <JobActions
        job={job}
        onChange={(changed, isResumed) => {
          followed.put(changed);
          onChange(changed);
          if (isResumed) followed.again();
        }}
        onRemoved={onRemoved}
      />
      {error && <p className="notice" role="alert">{error}</p>}
      <Tabs label={jobs.inspector} tabs={tabs} selected={tab} onSelect={setTab}>
        {tab === 'state' && <StateTab job={job} news={news} />}
        {tab === 'metrics' && <MetricsTab job={job} />}
        {tab === 'log' && <LogTab news={news} />}
        {tab === 'document' && <pre className="log" tabIndex={0} aria-label={jobs.document}>{typeof job.document === 'string' ? job.document : JSON.stringify(job.document, null, 2)}</pre>}
      </Tabs>
    </>
  );
}
