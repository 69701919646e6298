import { text } from '../text';
import type { TablePreview } from './tables';

const mostColumns = 60;

// Columns with their types, missing values and, where it is known, how their values are distributed.
function ColumnHead({ column }: { column: TablePreview['columns'][number] }) {
  const most = Math.max(1, ...(column.counts ?? []));
  return (
    <th scope="col">
      <div>{column.name}</div>
      <div className="secondary">{column.type}</div>
      {column.nulls > 0 && <div className="secondary">{text.preview.missing(column.nulls)}</div>}
      {column.counts && <div className="bars" aria-hidden>{column.counts.map((value, place) => <i key={place} style={{ height: `${Math.round((100 * value) / most)}%` }} />)}</div>}
    </th>
  );
}

export function TableView({ table, label }: { table: TablePreview; label: string }) {
  const columns = table.columns.slice(0, mostColumns);
  return (
    <>
      <p className="secondary num">{text.preview.rows(table.first_rows.length, table.rows)} × {table.columns.length}</p>
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
