import { useMemo, useState } from 'react';
import { shared } from '../text/shared';
import { lossSeries, type Curve } from '../ui/curve';
import { Legend } from '../ui/Legend';
import { Plot } from '../ui/Plot';
import type { PlotSeries } from '../ui/plot_data';

// A logarithmic axis has no place for what is not above zero.
export const aboveZero = (series: PlotSeries[]): PlotSeries[] =>
  series.map((each) => ({ ...each, y: each.y.map((value) => (value !== null && value > 0 ? value : null)) }));

interface LossCurveProps {
  curves: ReadonlyMap<string, Curve>;
  version: number; // another one: the curves have grown
  empty: string;
  height?: number;
}

// Losses by epoch of one card; where several have trained, a person chooses.
export function LossCurve({ curves, version, empty, height = 130 }: LossCurveProps) {
  const [chosen, setChosen] = useState('');
  const [isLogarithmic, setLogarithmic] = useState(false);
  const cards = [...curves.keys()];
  const card = curves.has(chosen) ? chosen : (cards.at(-1) ?? '');
  const series = useMemo(() => {
    const all = lossSeries(curves.get(card), shared);
    return isLogarithmic ? aboveZero(all) : all;
  }, [curves, card, isLogarithmic, version]);
  return (
    <section className="curve" aria-label={shared.loss}>
      <div className="row wrap curve-head">
        <h2>{shared.loss}</h2>
        <Legend series={series} />
        <span className="grow" />
        {cards.length > 1 && (
          <select className="input small" aria-label={shared.card} value={card} onChange={(event) => setChosen(event.target.value)}>
            {cards.map((each) => <option key={each}>{each}</option>)}
          </select>
        )}
        {series.length > 0 && <label className="check"><input type="checkbox" checked={isLogarithmic} onChange={(event) => setLogarithmic(event.target.checked)} />{shared.logarithmic}</label>}
      </div>
      {series.length > 0 ? <Plot label={shared.loss} series={series} height={height} logarithmic={isLogarithmic} xWhole /> : <p className="secondary" style={{ minHeight: height }}>{empty}</p>}
    </section>
  );
}
