import { text } from '../text';
import { count, figure } from '../ui/format';
import { labelOf } from '../core/form';

// Numbers of a training step as the service tells them: arrays with a shape, figures, and named things that have some.

type Told = { [key: string]: unknown };
const isTold = (value: unknown): value is Told => typeof value === 'object' && value !== null && !Array.isArray(value);
const mostCells = 8;

interface ToldArray extends Told {
  shape: number[];
}
const isArray = (value: unknown): value is ToldArray => isTold(value) && Array.isArray(value.shape);

// Rows of up to eight numbers, however the service has nested them.
function cornerOf(array: ToldArray): unknown[][] {
  const values = (array.values ?? array.corner ?? []) as unknown[];
  const rows = Array.isArray(values[0]) ? (values as unknown[][]) : [values];
  return rows.slice(0, mostCells).map((row) => row.slice(0, mostCells));
}

const cell = (value: unknown): string => (typeof value === 'number' ? figure(value) : Array.isArray(value) ? '…' : value === null ? '–' : String(value));

function ArrayView({ name, array }: { name: string; array: ToldArray }) {
  const rows = cornerOf(array);
  const isCut = array.shape.some((size) => size > mostCells);
  return (
    <details className="numbers">
      <summary>
        <b>{labelOf(name)}</b> <span className="secondary num">{array.shape.map(count).join(' × ')}, {text.steps.range(figure(array.lowest as number), figure(array.highest as number))}</span>
      </summary>
      <div className="scroll" tabIndex={0} role="region" aria-label={labelOf(name)}>
        <table className="grid num"><tbody>{rows.map((row, place) => <tr key={place}>{row.map((value, at) => <td key={at}>{cell(value)}</td>)}</tr>)}</tbody></table>
      </div>
      <p className="secondary num">{text.steps.mean(figure(array.mean as number))}{isCut ? `; ${text.steps.corner}` : ''}</p>
    </details>
  );
}

function Entry({ name, value }: { name: string; value: unknown }) {
  if (value === null || value === undefined) return null;
  if (isArray(value)) return <ArrayView name={name} array={value} />;
  if (Array.isArray(value)) {
    if (value.length === 0) return null;
    if (value.every((each) => !isTold(each) && !Array.isArray(each))) {
      const shown = value.slice(0, 12).map(cell).join(', ');
      return <p className="figure-line"><span>{labelOf(name)}</span> <span className="num">{shown}{value.length > 12 ? ' …' : ''}</span></p>;
    }
    return (
      <details className="numbers">
        <summary><b>{labelOf(name)}</b> <span className="secondary">{count(value.length)}</span></summary>
        {value.map((each, place) => (isArray(each) ? <ArrayView key={place} name={nameIn(each, place)} array={each} /> : isTold(each) ? <Part key={place} title={nameIn(each, place)} told={each} /> : null))}
      </details>
    );
  }
  if (isTold(value)) return <Part title={labelOf(name)} told={value} />;
  return <p className="figure-line"><span>{labelOf(name)}</span> <span className="num">{cell(value)}</span></p>;
}

const nameIn = (told: Told, place: number) => String(told.name ?? told.parameter ?? place + 1);

function Part({ title, told }: { title: string; told: Told }) {
  return (
    <div className="part">
      <h3>{title}</h3>
      <Numbers told={told} without={['name', 'parameter']} />
    </div>
  );
}

export function Numbers({ told, without = [] }: { told: Told; without?: string[] }) {
  return <>{Object.entries(told).filter(([key]) => !without.includes(key)).map(([key, value]) => <Entry key={key} name={key} value={value} />)}</>;
}
