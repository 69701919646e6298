import { useMemo, useState } from 'react';
import { navigate } from '../app/router';
import { mayChange, useSession } from '../app/session';
import { data } from '../text/data';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { count } from '../ui/format';
import { List, type Column } from '../ui/List';
import { moment, wholeMoment } from '../ui/when';
import { useAllPages } from './all_pages';
import { useAnswer, type Answer } from '../api/answers';
import { nameOfSource, type Preview } from './column_facts';
import { GenerateForm, UploadForm, type Dataset } from './DataForms';
import { DataInspector } from './DataInspector';
import { newestFirst } from './datasets';
import { FindField } from './FindField';
import './pages.css';
import { usePassingWords } from './passing_words';

const columns: Column<Dataset>[] = [
  { name: 'id', title: data.columns.id, width: 'minmax(120px, 1.2fr)', cell: (dataset) => <span title={dataset.id}>{dataset.id}</span> },
  { name: 'source', title: data.columns.source, width: 'minmax(120px, 1fr)', cell: (dataset) => <span title={dataset.source}>{dataset.cleaned_of ? data.repairedFrom(dataset.cleaned_of) : nameOfSource(dataset.source)}</span> },
  { name: 'rows', title: data.columns.rows, width: '90px', right: true, cell: (dataset) => count(dataset.rows) },
  { name: 'columns', title: data.columns.columns, width: '70px', right: true, cell: (dataset) => count(dataset.columns.length) },
  { name: 'added', title: data.columns.added, width: '96px', right: true, cell: (dataset) => <span title={wholeMoment(dataset.added)}>{moment(dataset.added)}</span> },
];

const mostColumns = 40;

function FirstRows({ preview }: { preview: Answer<Preview> }) {
  const { value } = preview;
  if (!value) return <p className="secondary">{preview.error ? '' : data.reading}</p>;
  const shown = value.columns.slice(0, mostColumns);
  const left = value.columns.length - shown.length;
  return (
    <section className="curve first-rows" aria-label={data.preview}>
      <h2>{data.preview} <span className="secondary num">{data.previewOf(count(value.first_rows.length), count(value.rows))}{left > 0 && ` · ${data.moreColumns(left)}`}</span></h2>
      <div className="scroll" tabIndex={0} role="region" aria-label={data.preview}>
        <table className="rows-table num">
          <thead><tr>{shown.map((column) => <th key={column.name} scope="col" title={column.type}>{column.name}</th>)}</tr></thead>
          <tbody>{value.first_rows.map((row, place) => <tr key={place}>{shown.map((column, at) => <td key={column.name} title={row[at] ?? ''}>{row[at]}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </section>
  );
}

function filtered(datasets: readonly Dataset[], text: string): readonly Dataset[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length === 0 ? datasets : datasets.filter(({ id, source }) => words.every((word) => `${id} ${source}`.toLowerCase().includes(word)));
}

export default function DataPage({ id }: { id?: string }) {
  const session = useSession((state) => state.session);
  const all = useAllPages<Dataset>('/api/datasets', 'datasets');
  const [text, setText] = useState('');
  const [form, showForm] = useState<'upload' | 'generate' | null>(null);
  const [message, setMessage] = usePassingWords();
  const setForm = (shown: typeof form) => {
    setMessage('');
    showForm(shown);
  };
  const rows = useMemo(() => filtered(newestFirst(all.rows), text), [all.rows, text]);
  const dataset = all.rows.find((each) => each.id === id);
  const preview = useAnswer<Preview>(dataset && !form ? `/api/datasets/${encodeURIComponent(dataset.id)}/preview` : null);
  const damaged = (all.extra.damaged ?? []) as { id: string; problem: string }[];
  const show = (made: string, words: string) => {
    setForm(null);
    setMessage(words);
    all.reload();
    navigate(`/data/${encodeURIComponent(made)}`);
  };
  const empty = !all.isWhole ? (all.error ? null : shared.loading) : text.trim() ? data.emptyFilter : data.empty;
  return (
    <div className="regions">
      <section className="middle" aria-label={data.list}>
        <div className="bar">
          <FindField value={text} onChange={setText} placeholder={data.find} label={data.find} />
          <span className="grow" />
          <span className="secondary num">{all.isWhole ? shared.shown(count(rows.length), count(all.rows.length)) : ''}</span>
          {mayChange(session) && <><Button onClick={() => setForm('generate')}>{data.generate}</Button><Button kind={form || dataset ? 'plain' : 'go'} onClick={() => setForm('upload')}>{data.upload}</Button></>}
        </div>
        {all.error && <p className="notice" role="alert">{all.error}</p>}
        {damaged.map((each) => <p key={each.id} className="notice">{data.damaged(each.id, each.problem)}</p>)}
        {message && <p className="notice good" role="status">{message}</p>}
        <List label={data.list} columns={columns} rows={rows} keyOf={(each) => each.id} selected={id} empty={empty} onSelect={(each) => { setForm(null); navigate(`/data/${encodeURIComponent(each.id)}`, { replace: id !== undefined }); }} />
      </section>
      <aside className="side" aria-label={data.inspector}>
        {form === 'upload' ? <UploadForm onDone={(made) => show(made.id, data.uploaded(made.id))} onCancel={() => setForm(null)} />
          : form === 'generate' ? <GenerateForm onDone={(made) => show(made.id, data.uploaded(made.id))} onCancel={() => setForm(null)} />
            : dataset ? (
              <DataInspector
                key={dataset.id} dataset={dataset} preview={preview} onMade={(made) => show(made.id, data.repaired(made.id, count(made.rows)))}
                onRemoved={(words) => { setMessage(words); all.reload(); navigate('/data'); }}
              />
            ) : <p className="secondary">{id && all.isWhole ? data.gone : id ? shared.loading : shared.select}</p>}
      </aside>
      <footer className="now">{dataset && !form ? <FirstRows preview={preview} /> : <p className="secondary">{shared.selectRows}</p>}</footer>
    </div>
  );
}
