import { text } from '../text';
import { Distribution } from '../ui/Distribution';
import { count, figure } from '../ui/format';
import type { ColumnDistribution, TablePreview } from './tables';

const mostColumns = 60;

// Numbers by counts in equal steps, texts by the most frequent ones, each as a bar.
function Bars({ distribution }: { distribution: ColumnDistribution }) {
  const heights = distribution.counts ?? (distribution.frequent ?? []).map((each) => each.rows);
  if (heights.length === 0) return null;
  const words = distribution.counts
    ? text.preview.spread(distribution.lowest_text ?? figure(distribution.lowest), distribution.highest_text ?? figure(distribution.highest), figure(distribution.mean))
    : (distribution.frequent ?? []).slice(0, 5).map((each) => `${each.value}: ${count(each.rows)}`).join('\n');
  return <div className="bars" title={words}><Distribution counts={heights} label={words} /></div>;
}

// A column with its type, its missing values and, where it is known, how its values are distributed.
function ColumnHead({ column }: { column: TablePreview['columns'][number] }) {
  return (
    <th scope="col">
      <div>{column.name}</div>
      <div className="secondary">{column.type}</div>
      {column.nulls > 0 && <div className="secondary">{text.preview.missing(column.nulls)}</div>}
      {column.distribution && <Bars distribution={column.distribution} />}
    </th>
  );
}

export function TableView({ table, label }: { table: TablePreview; label: string }) {
  const columns = table.columns.slice(0, mostColumns);
  return (
    <>
      <p className="secondary num">
        {text.preview.rows(table.first_rows.length, table.rows)} × {table.columns.length}
        {(table.distribution_rows ?? table.rows) < table.rows && text.preview.distributionsOf(table.distribution_rows ?? 0)}
      </p>
      <div className="scroll table-scroll" tabIndex={0} role="region" aria-label={label}>
        <table className="rows">
          <thead><tr>{columns.map((column) => <ColumnHead key={column.name} column={column} />)}</tr></thead>
          <tbody>
            {table.first_rows.map((row, place) => (
              <tr key={place}>
                {columns.map((column, at) => {
                  const value = row[at];
                  return value === null || value === undefined ? <td key={column.name} className="missing">{text.preview.noValue}</td> : <td key={column.name} className="num" title={value}>{shortened(value)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

// "0.6549549977457612" is read as 0.65495; the whole of it is in the title.
const shortened = (value: string): string =>
  /^-?\d+\.\d{6,}$/.test(value) ? Number(value).toPrecision(5) : value.length > 40 ? `${value.slice(0, 40)}…` : value;
