import { useState, type FormEvent } from 'react';
import { archiveName, archiveOf, belongTogether } from '../api/archive';
import { ApiError, post, sentenceOf } from '../api/client';
import { upload } from '../api/upload';
import { data } from '../text/data';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { Field } from '../ui/Field';
import { Meter } from '../ui/Meter';
import { idFrom } from './column_facts';
import { sampleRequest } from './datasets';

export interface Dataset {
  id: string;
  source: string;
  kind: string;
  rows: number;
  fingerprint: string;
  columns: { name: string; type: string }[];
  added: string;
  cleaned_of?: string;
}

interface FormProps {
  onDone: (made: Dataset) => void;
  onCancel: () => void;
}

// The service says "faulty" of a file that it would take with its faults.
const mayBeTaken = (failure: unknown) => failure instanceof ApiError && failure.status === 422 && /\bfaulty\b/.test(failure.message);

export function UploadForm({ onDone, onCancel }: FormProps) {
  const [files, setFiles] = useState<File[]>([]);
  const [isPacking, setPacking] = useState(false);
  const [id, setId] = useState('');
  const [share, setShare] = useState<number | null>(null);
  const [error, setError] = useState({ words: '', isOfFile: false, isFaulty: false });
  const send = async (isFaulty: boolean) => {
    const problem = !files[0] ? data.fileNeeded : files.length > 1 && !belongTogether(files) ? data.filesApart : '';
    if (!files[0] || problem) return setError({ words: problem, isOfFile: true, isFaulty: false });
    setError({ words: '', isOfFile: false, isFaulty: false });
    setShare(0);
    setPacking(files.length > 1);
    const file = files.length > 1 ? await archiveOf(files).catch(() => null) : files[0];
    setPacking(false);
    if (!file) {
      setShare(null);
      return setError({ words: data.unreadable, isOfFile: true, isFaulty: false });
    }
    const query = new URLSearchParams({ name: file.name, ...(id.trim() ? { id: id.trim() } : {}), ...(isFaulty ? { faulty: 'true' } : {}) });
    try {
      onDone(await upload<Dataset>(`/api/datasets/upload?${query}`, file, 'application/octet-stream', setShare));
    } catch (failure) {
      setError({ words: sentenceOf(failure), isOfFile: false, isFaulty: mayBeTaken(failure) });
    }
    setShare(null);
  };
  const choose = (chosen: File[]) => {
    setFiles(chosen);
    if (chosen[0]) setId(idFrom(chosen.length > 1 ? archiveName(chosen) : chosen[0].name));
  };
  const shown = files.map((each) => each.name).join(', ');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(false);
  };
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <h1>{data.uploadTitle}</h1>
      <Field label={data.file} help={data.uploadHelp} error={error.isOfFile ? error.words : undefined}>
        {(given) => <input {...given} className="input" type="file" multiple onChange={(event) => choose([...(event.target.files ?? [])])} />}
      </Field>
      <Field label={data.id} help={data.idHelp}>{(given) => <input {...given} className="input" value={id} onChange={(event) => setId(event.target.value)} />}</Field>
      {share !== null && <Meter label={isPacking ? data.packing : share < 1 ? shown : shared.reading} share={share} value={shared.sent(Math.round(100 * share))} />}
      {error.words && !error.isOfFile && <p className="notice broken" role="alert">{error.words}</p>}
      {error.isFaulty && <><p className="secondary">{data.faultyHelp}</p><div><Button disabled={share !== null} onClick={() => void send(true)}>{data.faulty}</Button></div></>}
      <div className="row"><Button kind="go" type="submit" disabled={share !== null}>{data.send}</Button><Button onClick={onCancel}>{shared.cancel}</Button></div>
    </form>
  );
}

export function GenerateForm({ onDone, onCancel }: FormProps) {
  const [sample, setSample] = useState('boston_housing');
  const [id, setId] = useState('');
  const [rows, setRows] = useState('');
  const [seed, setSeed] = useState('42');
  const [errors, setErrors] = useState({ rows: '', seed: '', whole: '' });
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const isRows = rows.trim() === '' || (/^[1-9]\d*$/.test(rows.trim()) && Number(rows) <= 1_000_000);
    const wrong = { rows: isRows ? '' : data.rowsWrong, seed: /^\d+$/.test(seed.trim()) ? '' : data.seedWrong, whole: '' };
    setErrors(wrong);
    if (wrong.rows || wrong.seed) return;
    setBusy(true);
    try {
      const { path, body } = sampleRequest(sample, Number(seed), rows.trim() ? Number(rows) : null, id.trim());
      onDone(await post<Dataset>(path, body));
    } catch (failure) {
      setErrors({ rows: '', seed: '', whole: sentenceOf(failure) });
    }
    setBusy(false);
  };
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <h1>{data.generateTitle}</h1>
      <Field label={data.sample} help={data.samples[sample]}>
        {(given) => <select {...given} className="input" value={sample} onChange={(event) => setSample(event.target.value)}>{Object.keys(data.samples).map((name) => <option key={name}>{name}</option>)}</select>}
      </Field>
      <Field label={data.id} help={data.idHelp}>{(given) => <input {...given} className="input" value={id} onChange={(event) => setId(event.target.value)} />}</Field>
      <Field label={data.rows} error={errors.rows}>{(given) => <input {...given} className="input" inputMode="numeric" placeholder={data.rowsUsual} value={rows} onChange={(event) => setRows(event.target.value)} />}</Field>
      <Field label={data.seed} error={errors.seed}>{(given) => <input {...given} className="input" inputMode="numeric" value={seed} onChange={(event) => setSeed(event.target.value)} />}</Field>
      {errors.whole && <p className="notice broken" role="alert">{errors.whole}</p>}
      <div className="row"><Button kind="go" type="submit" disabled={isBusy}>{isBusy ? data.making : data.make}</Button><Button onClick={onCancel}>{shared.cancel}</Button></div>
    </form>
  );
}
