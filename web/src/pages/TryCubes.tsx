import { useState, type FormEvent } from 'react';
import { archiveOf } from '../api/archive';
import { sentenceOf } from '../api/client';
import { upload } from '../api/upload';
import { models } from '../text/models';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { Field } from '../ui/Field';
import { Meter } from '../ui/Meter';

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
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setCubes([]);
    setError(files[0] ? '' : models.cubesNeeded);
    if (!files[0]) return;
    setShare(0);
    try {
      const file = files.length > 1 ? await archiveOf(files) : files[0];
      const path = `/api/models/${encodeURIComponent(name)}/predict/cubes?${new URLSearchParams({ name: file.name })}`;
      setCubes((await upload<{ cubes: ScoredCube[] }>(path, file, 'application/octet-stream', setShare)).cubes);
    } catch (failure) {
      setError(sentenceOf(failure));
    }
    setShare(null);
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
      {cubes.length > 0 && <p className="secondary">{models.scoresByApi(name)}</p>}
    </form>
  );
}
