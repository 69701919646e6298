import { useState, type FormEvent } from 'react';
import { post, remove, sentenceOf } from '../api/client';
import type { Job } from '../api/types';
import { navigate } from '../app/router';
import { mayChange, useSession } from '../app/session';
import { jobs } from '../text/jobs';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { Confirm } from '../ui/Confirm';
import { Field } from '../ui/Field';
import { actionsFor, type JobAction } from './job_rows';

interface JobActionsProps {
  job: Job;
  onChange: (job: Job, isResumed: boolean) => void;
  onRemoved: (id: string, words: string) => void;
}

function ContinueForm({ job, onEnd }: { job: Job; onEnd: () => void }) {
  const [epochs, setEpochs] = useState('10');
  const [rate, setRate] = useState('');
  const [errors, setErrors] = useState({ epochs: '', rate: '', whole: '' });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const wrong = { epochs: /^[1-9]\d*$/.test(epochs.trim()) ? '' : jobs.epochsWrong, rate: rate.trim() === '' || Number(rate) > 0 ? '' : jobs.learningRateWrong, whole: '' };
    setErrors(wrong);
    if (wrong.epochs || wrong.rate) return;
    try {
      const made = await post<Job>(`/api/training/jobs/${job.id}/continue`, { epochs: Number(epochs), ...(rate.trim() ? { learning_rate: Number(rate) } : {}) });
      onEnd();
      navigate(`/jobs/${made.id}`);
    } catch (failure) {
      setErrors({ epochs: '', rate: '', whole: sentenceOf(failure) });
    }
  };
  return (
    <form className="box" onSubmit={submit} noValidate>
      <h3>{jobs.continueTitle}</h3>
      <Field label={jobs.epochs} error={errors.epochs}>{(given) => <input {...given} className="input" inputMode="numeric" autoFocus value={epochs} onChange={(event) => setEpochs(event.target.value)} />}</Field>
      <Field label={jobs.learningRate} error={errors.rate}>{(given) => <input {...given} className="input" inputMode="decimal" placeholder={jobs.asBefore} value={rate} onChange={(event) => setRate(event.target.value)} />}</Field>
      {errors.whole && <p className="notice" role="alert">{errors.whole}</p>}
      <div className="row"><Button kind="go" type="submit">{jobs.start}</Button><Button onClick={onEnd}>{shared.cancel}</Button></div>
    </form>
  );
}

// What can be asked of a job now.
export function JobActions({ job, onChange, onRemoved }: JobActionsProps) {
  const session = useSession((state) => state.session);
  const [error, setError] = useState('');
  const [isContinuing, setContinuing] = useState(false);
  const actions = actionsFor(job);
  if (!mayChange(session)) return <p className="secondary">{shared.viewer}</p>;

  const ask = async (action: JobAction) => {
    setError('');
    try {
      if (action !== 'remove') return onChange(await post<Job>(`/api/training/jobs/${job.id}/${action}`, undefined), action === 'resume');
      const answer = await remove<{ freed?: string }>(`/api/training/jobs/${job.id}`);
      if (answer.freed) onRemoved(job.id, shared.freed(job.job_name, answer.freed));
      else onChange({ ...job, asked: 'delete' }, false);
    } catch (failure) {
      setError(sentenceOf(failure));
    }
  };
  const plain = (['pause', 'cancel', 'resume'] as const).filter((action) => actions.includes(action));
  return (
    <>
      <div className="row wrap">
        {plain.map((action) => <Button key={action} kind={action === 'resume' ? 'go' : 'plain'} onClick={() => void ask(action)}>{jobs.actions[action]}</Button>)}
        {actions.includes('continue') && !isContinuing && <Button onClick={() => setContinuing(true)}>{jobs.actions.continue}</Button>}
        {actions.includes('remove') && <Confirm title={jobs.actions.remove} question={jobs.removeQuestion(job.job_name)} action={jobs.actions.removeReally} onConfirm={() => void ask('remove')} />}
      </div>
      {isContinuing && <ContinueForm job={job} onEnd={() => setContinuing(false)} />}
      {error && <p className="notice" role="alert">{error}</p>}
    </>
  );
}
