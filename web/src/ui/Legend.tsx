import type { PlotSeries } from './plot_data';

// The lines of a plot by their colours and names.
export function Legend({ series }: { series: readonly PlotSeries[] }) {
  return (
    <span className="row wrap plot-legend">
      {series.map((each) => (
        <span key={each.label} className="row plot-key"><i className={each.dashed ? 'dashed' : ''} style={{ borderColor: `var(--${each.colour})` }} />{each.label}</span>
      ))}
    </span>
  );
}
