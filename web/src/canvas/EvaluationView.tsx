import { useMemo } from 'react';
import { resultsOf, titleOf, useMetrics } from '../api/metrics';
import { text } from '../text';
import { figure } from '../ui/format';
import { Plot } from '../ui/Plot';
import type { PlotSeries } from '../ui/plot_data';

interface Chart {
  kind: string;
  actual?: number[];
  predicted?: number[];
  counts?: number[][];
  classes?: string[];
}

interface Baseline {
  metrics: Record<string, number | null>;
  predicts: string;
}

// evaluations/CARD.json of a run.
export interface Evaluation {
  metrics: Record<string, number | null>;
  baseline?: Baseline; // all that earlier versions wrote
  baselines?: Baseline[];
  verdict?: { better: boolean; text: string };
  untested?: { worse: boolean; text: string }; // in place of a verdict, if there is too little to test with
  cautions?: { about: string; text: string }[]; // what not to rely on
  charts: Chart[];
  rows: number;
  cubes_measured?: string; // each row is one
  target?: string;
}

interface MetricsProps {
  metrics: Record<string, number | null>;
  baselines?: Baseline[];
  title?: string;
}

export function MetricsTable({ metrics, baselines = [], title = text.preview.metrics }: MetricsProps) {
  const known = useMetrics();
  const [result] = resultsOf([{ metrics }], known);
  return (
    <section className="gap">
      <h2>{title}</h2>
      <table className="figures">
        <thead><tr><th scope="col">{text.preview.metric}</th><th scope="col">{text.preview.value}</th>{baselines.map((each) => <th key={each.predicts} scope="col">{text.preview.baseline(each.predicts)}</th>)}</tr></thead>
        <tbody>
          {result?.metrics.map(([name, value]) => (
            <tr key={name}><th scope="row">{titleOf(name, known)}</th><td className="num">{figure(value)}</td>{baselines.map((each) => <td key={each.predicts} className="num">{figure(each.metrics[name])}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Scatter({ chart }: { chart: Chart }) {
  const series = useMemo((): PlotSeries[] => {
    const actual = chart.actual ?? [];
    const low = actual.reduce((least, value) => Math.min(least, value), Infinity);
    const high = actual.reduce((most, value) => Math.max(most, value), -Infinity);
    return [
      { label: text.preview.predictedAxis, colour: 'run', kind: 'points', x: actual, y: chart.predicted ?? [], size: 3 },
      { label: text.preview.ideal, colour: 'muted', kind: 'line', x: [low, high], y: [low, high], dashed: true },
    ];
  }, [chart]);
  return (
    <section className="gap">
      <h2>{text.preview.predicted}</h2>
      <Plot label={text.preview.predicted} series={series} height={230} xTitle={text.preview.actual} yTitle={text.preview.predictedAxis} />
    </section>
  );
}

function Confusion({ chart }: { chart: Chart }) {
  const counts = chart.counts ?? [];
  const names = chart.classes ?? counts.map((_, place) => String(place));
  const most = Math.max(1, ...counts.flat());
  return (
    <section className="gap">
      <h2>{text.preview.confusion}</h2>
      <div className="scroll" tabIndex={0} role="region" aria-label={text.preview.confusion}>
        <table className="figures matrix">
          <thead><tr><th scope="col">{text.preview.actual} \ {text.preview.predictedAxis}</th>{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {counts.map((row, place) => (
              <tr key={names[place]}>
                <th scope="row">{names[place]}</th>
                {row.map((value, column) => <td key={names[column]} className="num" style={{ background: `color-mix(in srgb, var(--run) ${Math.round((30 * value) / most)}%, transparent)` }}>{value}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function EvaluationView({ evaluation }: { evaluation: Evaluation }) {
  return (
    <>
      <MetricsTable title={text.preview.onTest(evaluation.rows, evaluation.cubes_measured ? 'cubes' : 'rows')} metrics={evaluation.metrics} baselines={evaluation.baselines ?? (evaluation.baseline ? [evaluation.baseline] : [])} />
      {evaluation.verdict && <p><strong>{text.preview.verdict(evaluation.verdict.text)}</strong></p>}
      {evaluation.untested && <p><strong>{text.preview.untested(evaluation.untested.text)}</strong></p>}
      {(evaluation.cautions ?? []).map((caution) => <p key={caution.about}><strong>{text.preview.caution(caution.text)}</strong></p>)}
      {evaluation.charts.map((chart) => {
        if (chart.kind === 'predicted_against_actual') return <Scatter key={chart.kind} chart={chart} />;
        if (chart.kind === 'confusion_matrix') return <Confusion key={chart.kind} chart={chart} />;
        return null;
      })}
    </>
  );
}
