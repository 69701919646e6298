import { useEffect, useState } from 'react';
import { ApiError, get, sentenceOf } from '../api/client';
import { Link } from '../app/router';
import { typeOf } from '../core/document';
import { own } from '../core/own';
import { text } from '../text';
import { lossSeries } from '../ui/curve';
import { CubesView } from '../ui/CubesView';
import { Plot } from '../ui/Plot';
import { useCanvas } from './canvas_store';
import { isEdited } from './face';
import { EvaluationView, MetricsTable, type Evaluation } from './EvaluationView';
import { Numbers } from './NumbersView';
import { useRun } from './run_store';
import { TableView } from './TableView';
import { tableOf, type TablePreview } from './tables';

interface RunRecord {
  trainings?: { card: string; model_type?: string; rows?: number; measured_rows?: number; metrics?: { name: string; value: number | null }[] }[];
}

interface RunFiles {
  files: { path: string; type: string }[];
}

const fileOf = (run: string, path: string) => `/api/runs/${encodeURIComponent(run)}/files/${path.split('/').map(encodeURIComponent).join('/')}`;

// What is asked of the service once, and again when what it depends on has changed; null: not there (yet).
function useAnswer<Answer>(ask: () => Promise<Answer>, when: boolean, on: unknown[]): { answer: Answer | null; error: string } {
  const [known, setKnown] = useState<{ answer: Answer | null; error: string }>({ answer: null, error: '' });
  useEffect(() => {
    let isWanted = true;
    setKnown({ answer: null, error: '' });
    if (when)
      ask().then(
        (answer) => isWanted && setKnown({ answer, error: '' }),
        (error) => isWanted && setKnown({ answer: null, error: error instanceof ApiError && error.status === 404 ? '' : sentenceOf(error) }),
      );
    return () => {
      isWanted = false;
    };
  }, [when, ...on]);
  return known;
}

function Table({ run, card, output, isReady }: { run: string; card: string; output: string; isReady: boolean }) {
  const { answer, error } = useAnswer<TablePreview>(() => tableOf(run, card, output), isReady, [run, card, output]);
  return (
    <section className="gap">
      <h2>{output}</h2>
      {error && <p className="field-error">{error}</p>}
      {answer?.cubes && <CubesView cubes={answer.cubes} />}
      {answer && <TableView table={answer} label={`${card}.${output}`} />}
    </section>
  );
}

// The record of a run is written now and then while it goes on, and whole when it is over.
function Training({ run, card, isReady, isOver }: { run: string; card: string; isReady: boolean; isOver: boolean }) {
  const curve = own(useRun((state) => state.curves), card);
  const isReused = useRun((state) => own(state.cards, card)?.state === 'reused');
  const { answer } = useAnswer<RunRecord>(() => get(`/api/runs/${encodeURIComponent(run)}`), isReady, [run, card, isOver]);
  const training = answer?.trainings?.find((each) => each.card === card);
  const metrics = training?.metrics ?? [];
  const areCubes = useCanvas((state) => state.graphFamily !== '' && state.graphFamily === training?.model_type);
  return (
    <>
      <section className="gap">
        <h2>{text.now.loss}</h2>
        {isReused && !curve ? <p className="secondary">{text.preview.reused}</p> : <Plot label={text.now.loss} series={lossSeries(curve, text.now)} height={160} xWhole />}
      </section>
      {metrics.length > 0 && <MetricsTable title={text.preview.onTraining(training?.measured_rows ?? 0, training?.rows ?? 0, areCubes ? 'cubes' : 'rows')} metrics={Object.fromEntries(metrics.map((each) => [each.name, each.value]))} />}
    </>
  );
}

// What the cards of a training step tell of their numbers; others keep no such report.
function Report({ run, card, output, isReady }: { run: string; card: string; output: string; isReady: boolean }) {
  const { answer } = useAnswer<Record<string, unknown>>(() => tableOf(run, card, output) as unknown as Promise<Record<string, unknown>>, isReady, [run, card, output]);
  if (!answer || typeof answer.text !== 'string') return null;
  return (
    <section className="gap">
      <h2>{output}</h2>
      <p className="secondary">{answer.text}</p>
      <Numbers told={answer} without={['step', 'title', 'text']} />
    </section>
  );
}

// Pictures are drawn when the run is over; those of a training stand with it, the others with what looks at the model.
function Pictures({ run, trains, isOver }: { run: string; trains: boolean; isOver: boolean }) {
  const { answer } = useAnswer<RunFiles>(() => get(`/api/runs/${encodeURIComponent(run)}/files`), isOver, [run]);
  const pictures = (answer?.files ?? []).filter((file) => file.type === 'image/png' && /^plots\/(loss|training)/.test(file.path) === trains);
  if (pictures.length === 0) return null;
  return (
    <section className="gap">
      <h2>{text.preview.pictures}</h2>
      {pictures.map((file) => {
        const name = file.path.replace(/^plots\//, '').replace(/\.png$/, '').replaceAll('_', ' ');
        return <a key={file.path} href={fileOf(run, file.path)} target="_blank" rel="noreferrer"><img className="picture" src={fileOf(run, file.path)} alt={name} loading="lazy" /></a>;
      })}
    </section>
  );
}

export function Preview({ card }: { card: string }) {
  const type = useCanvas((state) => state.types.get(typeOf(state.history.now, card)));
  const now = useCanvas((state) => state.history.now);
  const { run, ran, state } = useRun();
  const cardState = useRun((each) => own(each.cards, card)?.state);
  const isReady = cardState === 'done' || cardState === 'reused';
  const isOver = state === 'completed' || state === 'failed' || state === 'cancelled';
  const looks = Boolean(type && !type.trains && type.outputs.some((port) => port.type === 'report'));
  const { answer: evaluation } = useAnswer<Evaluation>(() => get(fileOf(run, `evaluations/${card}.json`)), isReady && looks, [run, card]);
  if (!type || !run || (!isReady && !(type.trains && cardState === 'running'))) return <p className="secondary gap">{text.inspector.noPreview}</p>;
  return (
    <>
      {isEdited(now, ran, card) && <p className="notice plain gap">{text.inspector.stale}</p>}
      {type.outputs.filter((port) => port.type === 'table').map((port) => <Table key={port.name} run={run} card={card} output={port.name} isReady={isReady} />)}
      {type.trains && <Training run={run} card={card} isReady={isReady} isOver={isOver} />}
      {looks && type.outputs.filter((port) => port.type === 'report').map((port) => <Report key={port.name} run={run} card={card} output={port.name} isReady={isReady} />)}
      {evaluation && <EvaluationView evaluation={evaluation} />}
      {(type.trains || evaluation) && <Pictures run={run} trains={type.trains} isOver={isOver} />}
      {isOver && (type.trains || evaluation) && (
        <p className="row wrap gap">
          <a href={fileOf(run, 'report.html')} target="_blank" rel="noreferrer">{text.preview.report}</a>
          <Link href={`/runs/${encodeURIComponent(run)}`}>{text.preview.runPage}</Link>
        </p>
      )}
    </>
  );
}
