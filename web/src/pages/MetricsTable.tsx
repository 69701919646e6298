import { runs } from '../text/runs';
import { shared } from '../text/shared';
import { count, figure } from '../ui/format';
import { titleOf, useMetrics, type Result } from '../api/metrics';

// What an evaluation found, metric by metric, with the way that is better.
export function MetricsTable({ result }: { result: Result }) {
  const known = useMetrics();
  return (
    <section>
      <h2>{shared.metrics} {result.card && <span className="as-is">{result.card}</span>}</h2>
      {result.rows > 0 && <p className="secondary">{runs.onRows(count(result.rows))}</p>}
      <table className="figures">
        <tbody>
          {result.metrics.map(([name, value]) => {
            const metric = known.get(name);
            return (
              <tr key={name}>
                <th scope="row">{titleOf(name, known)}{metric && <span className="secondary" title={metric.higher_is_better ? runs.higher : runs.lower}> {metric.higher_is_better ? '↑' : '↓'}</span>}</th>
                <td className="num" title={String(value)}>{figure(value)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
