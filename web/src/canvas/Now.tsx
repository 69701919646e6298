import { useMemo } from 'react';
import { Link } from '../app/router';
import { Gauges } from '../pages/Gauges';
import { text } from '../text';
import { bytes, count, figure, short, time } from '../ui/format';
import { Pill } from '../ui/Pill';
import { Plot } from '../ui/Plot';
import type { PlotSeries } from '../ui/plot_data';
import { useCanvas } from './canvas_store';
import type { Curve } from './run_events';
import { useRun } from './run_store';

export function lossSeries(curve: Curve | undefined): PlotSeries[] {
  if (!curve) return [];
  const series: PlotSeries[] = [{ label: text.now.train, colour: 'ember', kind: 'line', x: curve.epochs, y: curve.train }];
  if (curve.validation.some((value) => value !== null)) series.push({ label: text.now.validation, colour: 'run', kind: 'line', x: curve.epochs, y: curve.validation });
  return series;
}

function Figures() {
  const { job, state, progress, cards, failure, curves } = useRun();
  if (!job) return null;
  const all = Object.values(cards);
  const done = all.filter((card) => card.state === 'done' || card.state === 'reused').length;
  const curve = Object.values(curves).at(-1);
  const rows: [string, string][] = [[text.now.cards, text.now.of(done, all.length)]];
  const loss = progress?.train_loss ?? curve?.train.at(-1);
  const epoch = progress?.epoch ?? curve?.epochs.at(-1);
  if (epoch) rows.push([text.now.epoch, count(epoch)]);
  if (loss !== undefined && loss !== null) rows.push([text.now.trainLoss, figure(loss)]);
  if (progress?.steps_per_second) rows.push([text.now.rate, text.now.steps(short(progress.steps_per_second))]);
  if (progress?.seconds_left) rows.push([text.now.timeLeft, time(progress.seconds_left)]);
  if (progress?.gpu) rows.push([text.now.busy, `${progress.gpu.busy} %`], [text.now.memory, bytes(progress.gpu.used_bytes)]);
  return (
    <div className="live" aria-live="polite">
      <div className="row"><h2 className="grow">{text.now.job}</h2>{state && <Pill state={state} />}</div>
      {failure && <p className="field-error">{failure}</p>}
      <dl className="num">{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <Link href={`/jobs/${job}`}>{text.now.openJob}</Link>
    </div>
  );
}

// The curve of the selected card where it trains, else of the one that trained last.
export function Now() {
  const curves = useRun((state) => state.curves);
  const selected = useCanvas((state) => state.selected[0]);
  const job = useRun((state) => state.job);
  const card = selected && curves[selected] ? selected : Object.keys(curves).at(-1);
  const series = useMemo(() => lossSeries(card ? curves[card] : undefined), [curves, card]);
  return (
    <footer className="now" aria-label={text.now.label}>
      <div className="curve">
        <h2>{text.now.loss}{card && Object.keys(curves).length > 1 ? ` · ${card}` : ''}
          {series.length > 1 && series.map((each) => <span key={each.label} className="legend"><i className="dot" style={{ background: `var(--${each.colour})` }} />{each.label}</span>)}
        </h2>
        {series.length > 0 ? <Plot label={text.now.loss} series={series} height={118} xWhole /> : <p className="secondary">{job ? '' : text.now.idle}</p>}
      </div>
      {job ? <Figures /> : <Gauges />}
    </footer>
  );
}
