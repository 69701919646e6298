import { useState, type FormEvent } from 'react';
import { archiveOf } from '../api/archive';
import { ask, sentenceOf } from '../api/client';
import { upload } from '../api/upload';
import { models } from '../text/models';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { Field } from '../ui/Field';
import { Meter } from '../ui/Meter';
import { giveFile } from '../ui/give_file';

interface ScoredCube {
  cube: string;
  height: number;
  width: number;
  pixels: number;
  marked_pixels?: number; // of graphs that decide
  lowest_score: number | null; // null: no pixel has one
  highest_score: number | null;
}

const score = (value: number | null) => (value === null ? models.noScore : value.toPrecision(6));

// What a model makes of the pixels of cubes that are chosen here.
export function TryCubes({ name }: { name: string }) {
  const [files, setFiles] = useState<File[]>([]);
  const [cubes, setCubes] = useState<ScoredCube[]>([]);
  const [share, setShare] = useState<number | null>(null);
  const [error, setError] = useState('');
  const [sent, setSent] = useState<File | null>(null); // what the scores are of
  const [isFetching, setFetching] = useState(false);
  const pathFor = (file: File) => `/api/models/${encodeURIComponent(name)}/predict/cubes?${new URLSearchParams({ name: file.name })}`;
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setCubes([]);
    setError(files[0] ? '' : models.cubesNeeded);
    if (!files[0]) return;
    setShare(0);
    try {
      const file = files.length > 1 ? await archiveOf(files) : files[0];
      setCubes((await upload<{ cubes: ScoredCube[] }>(pathFor(file), file, 'application/octet-stream', setShare)).cubes);
      setSent(file);
    } catch (failure) {
      setError(sentenceOf(failure));
    }
    setShare(null);
  };
  // The service keeps nothing of what it scores, so the cubes go there once more.
  const download = async (file: File) => {
    setError('');
    setFetching(true);
    try {
      const answer = await ask('POST', pathFor(file), { body: file, type: 'application/octet-stream', headers: { Accept: 'application/zip' } });
      giveFile(`${file.name.replace(/\.[^.]*$/, '')}_scores.zip`, await answer.blob());
    } catch (failure) {
      setError(sentenceOf(failure));
    }
    setFetching(false);
  };
  return (
    <form className="stack" onSubmit={send} noValidate>
      <Field label={models.cubes} help={models.cubesHelp}>
        {(given) => <input {...given} className="input" type="file" multiple onChange={(event) => { setCubes([]); setFiles([...(event.target.files ?? [])]); }} />}
      </Field>
      {share !== null && <Meter label={share < 1 ? models.cubes : shared.reading} share={share} value={shared.sent(Math.round(100 * share))} />}
      {error && <p className="notice broken" role="alert">{error}</p>}
      <div><Button kind="go" type="submit" disabled={share !== null}>{share === null ? models.predict : models.predicting}</Button></div>
      {cubes.map((each) => (
        <p key={each.cube}>{models.scored(each.cube, each.height, each.width, score(each.lowest_score), score(each.highest_score), each.marked_pixels)}</p>
      ))}
      {sent && cubes.length > 0 && (
        <>
          <div><Button disabled={isFetching} onClick={() => void download(sent)}>{isFetching ? models.fetchingScores : models.fetchScores}</Button></div>
          <p className="secondary">{models.scoresByApi(name)}</p>
        </>
      )}
    </form>
  );
}
