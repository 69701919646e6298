import { useMemo } from 'react';
import { Link } from '../app/router';
import { Gauges } from '../ui/Gauges';
import { text } from '../text';
import { lossSeries } from '../ui/curve';
import { bytes, count, figure, short, time } from '../ui/format';
import { Legend } from '../ui/Legend';
import { Pill } from '../ui/Pill';
import { Plot } from '../ui/Plot';
import { cardsOf, typeOf, type Tree } from '../core/document';
import { sameValue } from '../core/document_text';
import type { CardTypes } from '../core/ports';
import { own } from '../core/own';
import { useCanvas } from './canvas_store';
import type { CardRun } from './run_events';
import { isUnderWay, useRun } from './run_store';

// Whether what is on the page is what the run was of; while it goes on, it is what matters.
function useIsCurrent(): boolean {
  const now = useCanvas((state) => state.history.now);
  const { ran, state } = useRun();
  return useMemo(() => ran === null || isUnderWay(state) || now === ran || sameValue(cardsOf(now), cardsOf(ran)), [now, ran, state]);
}

// Cards that would have a curve, had their training not been used again.
function reusedTrainings(types: CardTypes, ran: Tree | null, cards: Readonly<Record<string, CardRun>>): string[] {
  return ran === null ? [] : Object.keys(cards).filter((id) => cards[id]?.state === 'reused' && types.get(typeOf(ran, id))?.trains);
}

function Figures() {
  const { job, state, progress, cards, failure, curves } = useRun();
  if (!job) return null;
  const isCurrent = useIsCurrent();
  const all = Object.values(cards);
  const done = all.filter((card) => card.state === 'done' || card.state === 'reused').length;
  const curve = Object.values(curves).at(-1);
  const rows: [string, string][] = [[text.now.cards, text.now.of(count(done), count(all.length))]];
  const loss = progress?.train_loss ?? curve?.train.at(-1);
  const epoch = progress?.epoch ?? curve?.last;
  if (epoch) rows.push([text.now.epoch, progress?.epochs ? text.now.of(count(epoch), count(progress.epochs)) : count(epoch)]);
  if (loss !== undefined && loss !== null) rows.push([text.now.trainLoss, figure(loss)]);
  if (progress?.steps_per_second) rows.push([text.now.rate, text.now.steps(short(progress.steps_per_second))]);
  if (progress?.seconds_left) rows.push([text.now.timeLeft, time(progress.seconds_left)]);
  if (progress?.gpu) rows.push([text.now.busy, `${progress.gpu.busy} %`], [text.now.memory, bytes(progress.gpu.used_bytes)]);
  return (
    <div className="live" aria-live="polite">
      <div className="row"><h2 className="grow">{isCurrent ? text.now.job : text.now.earlierJob}</h2>{state && <Pill state={state} />}</div>
      {failure && isCurrent && <p className="field-error">{failure}</p>}
      <dl className="num">{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <Link href={`/jobs/${job}`}>{text.now.openJob}</Link>
    </div>
  );
}

// The curve of the selected card where it trains, else of the one that trained last.
export function Now() {
  const curves = useRun((state) => state.curves);
  const selected = useCanvas((state) => (state.inside === null ? state.selected[0] : undefined));
  const job = useRun((state) => state.job);
  const types = useCanvas((state) => state.types);
  const ran = useRun((state) => state.ran);
  const cards = useRun((state) => state.cards);
  const reused = reusedTrainings(types, ran, cards);
  const card = selected && own(curves, selected) ? selected : Object.keys(curves).at(-1);
  const series = useMemo(() => lossSeries(card ? own(curves, card) : undefined, text.now), [curves, card]);
  return (
    <footer className="now" aria-label={text.now.label}>
      <div className="curve">
        <h2>{text.now.loss}{card && Object.keys(curves).length > 1 ? ` · ${card}` : ''}
          {series.length > 1 && <> <Legend series={series} /></>}
        </h2>
        {series.length > 0 ? <Plot label={text.now.loss} series={series} height={118} xWhole /> : <p className="secondary">{!job ? text.now.idle : reused.length > 0 ? text.now.reused(reused.join(', ')) : ''}</p>}
      </div>
      {job ? <Figures /> : <Gauges />}
    </footer>
  );
}
