import { models } from '../text/models';
import { count, figure } from '../ui/format';
import { Meter } from '../ui/Meter';
import { likelyClasses, type Prediction } from './try_form';

const mostRows = 100;
const told = (value: number | string | number[] | undefined): string =>
  Array.isArray(value) ? value.map((each) => figure(each)).join(', ') : typeof value === 'number' ? figure(value) : (value ?? '–');

function beside(answer: Prediction, row: number): string {
  const words: string[] = [];
  const deviation = answer.deviations?.[row];
  if (deviation !== undefined) words.push(models.deviation(told(deviation)));
  if (answer.lower && answer.upper) words.push(models.between(told(answer.lower[row]), told(answer.upper[row])));
  return words.join(', ');
}

// What the service answered, with all that it noted.
export function Answer({ answer }: { answer: Prediction }) {
  const { predictions } = answer;
  const notes = [
    ...Object.entries(answer.filled ?? {}).map(([column, values]) => models.filled(values, column)),
    ...Object.entries(answer.unseen ?? {}).map(([column, values]) => models.unseen(values, column)),
    ...(answer.notes ?? []),
  ];
  return (
    <section className="box" aria-label={models.answer} aria-live="polite">
      <h3>{answer.target || models.answer}</h3>
      {predictions.length === 1 ? (
        <>
          <p className="big num" data-testid="prediction">{told(predictions[0])}</p>
          {beside(answer, 0) && <p className="secondary num">{beside(answer, 0)}</p>}
          {likelyClasses(answer, 0).map(({ name, share }) => <Meter key={name} label={name} share={share} value={`${(100 * share).toFixed(1)} %`} />)}
        </>
      ) : (
        <div className="scroll short" tabIndex={0} role="region" aria-label={models.answer}>
          <table className="figures">
            <thead><tr><th scope="col">{models.row}</th><th scope="col" className="right">{answer.target}</th></tr></thead>
            <tbody>{predictions.slice(0, mostRows).map((value, row) => <tr key={row}><th scope="row">{count(row + 1)}</th><td className="num">{told(value)} <span className="secondary">{beside(answer, row)}</span></td></tr>)}</tbody>
          </table>
          {predictions.length > mostRows && <p className="secondary">{models.firstRows(mostRows, predictions.length)}</p>}
        </div>
      )}
      {notes.length > 0 && <ul className="plain-list">{notes.map((note) => <li key={note}>{note}</li>)}</ul>}
    </section>
  );
}
