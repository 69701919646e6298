import { useCallback, useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { text } from '../text';

export interface Column<Row> {
  name: string;
  title: string;
  width: string; // as grid-template-columns has it: "120px", "1fr"
  right?: boolean; // for numbers
  sorts?: boolean; // its head orders the rows by it
  cell: (row: Row) => ReactNode;
}

export interface Sort {
  column: string;
  isDown: boolean;
}

interface ListProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  selected?: string | null | undefined;
  onSelect?: (row: Row) => void;
  onToggle?: (row: Row) => void; // the space bar, on the selected row
  sort?: Sort | null;
  onSort?: (column: string) => void;
  onEnd?: () => void; // the last rows are in sight: the time to load more
  empty?: ReactNode;
  rowHeight?: number;
}

const beyond = 8; // rows that are drawn above and below what is seen

// Where a key leads from a row; null: nowhere.
export function placeAfter(key: string, now: number, count: number, page: number): number | null {
  const steps: Record<string, number> = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: count - 1 };
  const next = steps[key];
  return next === undefined || count === 0 ? null : Math.min(count - 1, Math.max(0, next));
}

const headWords = (isSorted: boolean, isDown: boolean) => (isSorted ? (isDown ? 'descending' : 'ascending') : 'none');

// A table of any length, of which only what is seen is drawn.
export function List<Row>({ label, columns, rows, keyOf, selected, onSelect, onToggle, sort, onSort, onEnd, empty, rowHeight = 36 }: ListProps<Row>) {
  const body = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ from: 0, to: 40 });

  const look = useCallback(() => {
    const element = body.current;
    if (!element) return;
    const from = Math.max(0, Math.floor(element.scrollTop / rowHeight) - beyond);
    const to = Math.ceil((element.scrollTop + element.clientHeight) / rowHeight) + beyond;
    setSeen((before) => (before.from === from && before.to === to ? before : { from, to }));
  }, [rowHeight]);

  useEffect(() => {
    look();
    const watcher = new ResizeObserver(look);
    if (body.current) watcher.observe(body.current);
    return () => watcher.disconnect();
  }, [look]);

  const atEnd = seen.to >= rows.length;
  useEffect(() => {
    if (atEnd) onEnd?.();
  }, [atEnd, rows.length]);

  const step = (event: KeyboardEvent) => {
    const element = body.current;
    if (!onSelect || !element || event.target !== element) return;
    const now = rows.findIndex((row) => keyOf(row) === selected);
    if (event.key === ' ' && onToggle && rows[now]) {
      event.preventDefault();
      return onToggle(rows[now]);
    }
    const next = placeAfter(event.key, now, rows.length, Math.max(1, Math.floor(element.clientHeight / rowHeight) - 1));
    const row = next === null ? undefined : rows[next];
    if (next === null || !row) return;
    event.preventDefault();
    onSelect(row);
    if (next * rowHeight < element.scrollTop) element.scrollTop = next * rowHeight;
    const below = (next + 1) * rowHeight - element.clientHeight;
    if (below > element.scrollTop) element.scrollTop = below;
  };

  const template = { gridTemplateColumns: columns.map((column) => column.width).join(' ') };
  return (
    <div className="list" role="grid" aria-label={label} aria-rowcount={rows.length + 1}>
      <div role="rowgroup">
        <div className="list-head" role="row" style={template}>
          {columns.map((column) => {
            const isSorted = sort?.column === column.name;
            return (
              <div key={column.name} role="columnheader" className={`list-cell ${column.right ? 'right' : ''}`} aria-sort={column.sorts ? headWords(isSorted, sort?.isDown ?? false) : undefined} title={column.title}>
                {column.sorts && onSort ? (
                  <button type="button" className="list-sort" onClick={() => onSort(column.name)}>
                    {column.title}{isSorted && <span aria-hidden>{sort?.isDown ? ' ↓' : ' ↑'}</span>}
                  </button>
                ) : column.title}
              </div>
            );
          })}
        </div>
      </div>
      <div className="list-body" role="rowgroup" ref={body} onScroll={look} onKeyDown={step} tabIndex={0} aria-label={label}>
        {rows.length === 0 && <div className="list-empty" role="row"><div role="gridcell">{empty ?? text.table.empty}</div></div>}
        <div role="presentation" style={{ height: rows.length * rowHeight }} />
        {rows.slice(seen.from, seen.to).map((row, index) => {
          const key = keyOf(row);
          const place = seen.from + index;
          return (
            <div
              key={key}
              role="row"
              aria-rowindex={place + 2}
              aria-selected={onSelect ? key === selected : undefined}
              className={`list-row ${onSelect ? 'can' : ''} ${key === selected ? 'on' : ''}`}
              style={{ ...template, top: place * rowHeight, height: rowHeight }}
              onClick={onSelect && (() => onSelect(row))}
            >
              {columns.map((column) => (
                <div key={column.name} role="gridcell" className={`list-cell ${column.right ? 'right' : ''}`}>{column.cell(row)}</div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
