import { models } from '../text/models';
import { count, figure } from '../ui/format';
import { Meter } from '../ui/Meter';
import { likelyClasses, notesOf, type Prediction } from './try_form';

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

const mostOpen = 2; // more notes than that would push the answer out of sight

function Notes({ notes }: { notes: readonly string[] }) {
  const list = <ul className="plain-list">{notes.map((note) => <li key={note}>{note}</li>)}</ul>;
  return notes.length <= mostOpen ? list : <details><summary>{models.notes(notes.length)}</summary>{list}</details>;
}

const toldActual = (actual: string) => (actual.trim() !== '' && Number.isFinite(Number(actual)) ? figure(Number(actual)) : actual);

// What the service answered, with all that it noted.
export function Answer({ answer, actual }: { answer: Prediction; actual: string | null }) {
  const { predictions } = answer;
  const notes = notesOf(answer, models);
  return (
    <section className="box" aria-label={models.answer} aria-live="polite">
      <h3>{answer.target || models.answer}</h3>
      {predictions.length === 1 ? (
        <>
          <p className="big num" data-testid="prediction">{told(predictions[0])}</p>
          {actual !== null && <p className="num" data-testid="actual">{models.actual} <b>{toldActual(actual)}</b></p>}
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
      {notes.length > 0 && <Notes notes={notes} />}
    </section>
  );
}
