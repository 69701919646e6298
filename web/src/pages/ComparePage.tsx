import { useEffect, useMemo, useState } from 'react';
import { Link, navigate, useQuery } from '../app/router';
import { runs } from '../text/runs';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { curvesOf } from '../ui/curve';
import { figure, time } from '../ui/format';
import { Legend } from '../ui/Legend';
import { Plot } from '../ui/Plot';
import { useAnswer } from '../api/answers';
import { colourOf, metricLines, namesOf, overlaidCurves, runOfCurves, wordsOfRows, type Comparison } from './comparison';
import { aboveZero } from './LossCurve';
import { titleOf, useMetrics } from '../api/metrics';
import './pages.css';
import { choose } from './chosen_runs';
import { useTexts } from './texts';

function Heads({ comparison, names }: { comparison: Comparison; names: readonly string[] }) {
  const without = (run: string) => navigate(`/compare?runs=${comparison.runs.filter((each) => each.run !== run).map((each) => encodeURIComponent(each.run)).join(',')}`);
  return (
    <>
      {comparison.runs.map(({ run, seconds }, place) => {
        const look = colourOf(place);
        return (
          <th key={run} scope="col" title={run}>
            <span className="row compared"><i className={look.dashed ? 'dashed' : ''} style={{ borderColor: `var(--${look.colour})` }} /><Link href={`/runs/${encodeURIComponent(run)}`}>{names[place]}</Link>
              {comparison.runs.length > 2 && <Button kind="quiet" className="tiny" aria-label={runs.removeFrom(names[place]!)} title={runs.removeFrom(names[place]!)} onClick={() => without(run)}>×</Button>}
            </span>
            {seconds !== null && <span className="secondary num">{time(seconds)}</span>}
          </th>
        );
      })}
    </>
  );
}

// Figures of different rows say little about the models.
function DifferentRowsNotice({ comparison, names, isOfCards }: { comparison: Comparison; names: readonly string[]; isOfCards: boolean }) {
  const nameOf = (run: string) => names[comparison.runs.findIndex((each) => each.run === run)] ?? run;
  return (comparison.different_rows ?? []).map((different) => (
    <div key={different.card} className="notice plain" role="status">
      {isOfCards ? `${different.card}: ` : ''}{runs.differentRows}
      <ul>{wordsOfRows(different, nameOf, runs.rowWords).map((words) => <li key={words} className="broken">{words}</li>)}</ul>
    </div>
  ));
}

function MetricsSide({ comparison, names }: { comparison: Comparison; names: readonly string[] }) {
  const known = useMetrics();
  const lines = useMemo(() => metricLines(comparison, known), [comparison, known]);
  const cards = new Set(lines.map((line) => line.card));
  return (
    <section>
      <h2>{shared.metrics}</h2>
      <DifferentRowsNotice comparison={comparison} names={names} isOfCards={cards.size > 1} />
      <div className="scroll" tabIndex={0} role="region" aria-label={shared.metrics}>
        <table className="side-by-side">
          <thead><tr><th scope="col">{runs.metricColumn}</th><Heads comparison={comparison} names={names} /></tr></thead>
          <tbody>
            {lines.map((line) => {
              const metric = known.get(line.metric);
              return (
                <tr key={line.key}>
                  <th scope="row">{titleOf(line.metric, known)}{metric && <span className="secondary" title={metric.higher_is_better ? runs.higher : runs.lower}> {metric.higher_is_better ? '↑' : '↓'}</span>}{cards.size > 1 && <span className="secondary"> {line.card}</span>}</th>
                  {line.values.map((value, place) => (
                    <td key={place} className={`num ${line.best.includes(place) ? 'best' : ''}`}>
                      <span title={String(value)}>{figure(value)}</span>
                      {line.best.includes(place) && <span className="pill ok">{runs.best}</span>}
                      {value !== null && line.rows[place] && <span className="pill" title={runs.differentRowsHelp}>{runs.rowMarks[line.rows[place]]}</span>}
                      {line.noise[place] === false && <span className="secondary" title={runs.noiseHelp}> {runs.noise}</span>}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {lines.length === 0 && <p className="secondary">{runs.noMetrics}</p>}
    </section>
  );
}

function Settings({ comparison, names }: { comparison: Comparison; names: readonly string[] }) {
  const settings = Object.entries(comparison.differing_settings);
  return (
    <section>
      <h2>{runs.settings}</h2>
      {settings.length === 0 ? <p className="secondary">{runs.same}</p> : (
        <div className="scroll" tabIndex={0} role="region" aria-label={runs.settings}>
          <table className="side-by-side">
            <thead><tr><th scope="col">{runs.setting}</th>{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
            <tbody>{settings.map(([name, values]) => <tr key={name}><th scope="row">{name}</th>{values.map((value, place) => <td key={place} className="num broken">{value || '–'}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Curves({ comparison, names }: { comparison: Comparison; names: readonly string[] }) {
  const [kind, setKind] = useState<'train' | 'validation'>('train');
  const [chosen, setChosen] = useState('');
  const [isLogarithmic, setLogarithmic] = useState(false);
  const texts = useTexts(comparison.runs.map((run) => `/api/runs/${encodeURIComponent(runOfCurves(run))}/files/metrics.csv`));
  const curves = useMemo(() => texts.map((answer) => (answer?.text ? curvesOf(answer.text) : null)), [texts]);
  const cards = [...new Set(curves.flatMap((each) => [...(each?.keys() ?? [])]))];
  const card = cards.includes(chosen) ? chosen : (cards[0] ?? '');
  const series = useMemo(() => {
    const all = overlaidCurves(names, curves, card, kind);
    return isLogarithmic ? aboveZero(all) : all;
  }, [names, curves, card, kind, isLogarithmic]);
  const isLoading = texts.some((answer) => answer === null);
  return (
    <section className="curve" aria-label={runs.curves}>
      <div className="row wrap curve-head">
        <h2>{runs.curves}</h2><Legend series={series} /><span className="grow" />
        {cards.length > 1 && <select className="input small" aria-label={shared.card} value={card} onChange={(event) => setChosen(event.target.value)}>{cards.map((each) => <option key={each}>{each}</option>)}</select>}
        <select className="input small" aria-label={runs.curveKind} value={kind} onChange={(event) => setKind(event.target.value as typeof kind)}>
          {(['train', 'validation'] as const).map((each) => <option key={each} value={each}>{runs.kinds[each]}</option>)}
        </select>
        <label className="check"><input type="checkbox" checked={isLogarithmic} onChange={(event) => setLogarithmic(event.target.checked)} />{shared.logarithmic}</label>
      </div>
      {series.length > 0 ? <Plot label={runs.curves} series={series} height={190} logarithmic={isLogarithmic} /> : <p className="secondary">{isLoading ? shared.loading : runs.noCurves}</p>}
    </section>
  );
}

export default function ComparePage() {
  const asked = (useQuery('runs') ?? '').split(',').filter(Boolean);
  const { value, error } = useAnswer<Comparison>(asked.length >= 2 ? `/api/runs/compare?runs=${asked.map(encodeURIComponent).join(',')}` : null);
  const names = useMemo(() => namesOf(value?.runs ?? []), [value]);
  const askedFor = asked.join(',');
  useEffect(() => choose(askedFor.split(',').filter(Boolean)), [askedFor]);
  return (
    <div className="compare">
      <div className="sheet">
        <div className="row wrap"><h1 className="grow">{runs.comparing(asked.length)}</h1><Link href="/runs">{runs.back}</Link></div>
        {asked.length < 2 && <p>{runs.tooFew}</p>}
        {error && <p className="notice" role="alert">{error}</p>}
        {asked.length >= 2 && !value && !error && <p className="secondary">{shared.loading}</p>}
        {value && (
          <>
            <MetricsSide comparison={value} names={names} />
            <Settings comparison={value} names={names} />
          </>
        )}
      </div>
      {value && <footer className="now"><Curves comparison={value} names={names} /></footer>}
    </div>
  );
}
