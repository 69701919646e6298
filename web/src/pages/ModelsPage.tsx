import { useMemo, useRef, useState } from 'react';
import { sentenceOf } from '../api/client';
import { upload } from '../api/upload';
import { Link, navigate } from '../app/router';
import { mayChange, useSession } from '../app/session';
import { jobs } from '../text/jobs';
import { models } from '../text/models';
import { runs } from '../text/runs';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { curvesOf } from '../ui/curve';
import { count, figure } from '../ui/format';
import { List, type Column } from '../ui/List';
import { moment, wholeMoment } from '../ui/when';
import { useAllPages } from './all_pages';
import { FindField } from './FindField';
import { LossCurve } from './LossCurve';
import { resultsOf, titleOf, useMetrics, type Metrics } from '../api/metrics';
import { ModelInspector } from './ModelInspector';
import { filteredModels, type Model } from './models';
import './pages.css';
import { useTexts } from './texts';

function leading(model: Model, known: Metrics): string {
  const [result] = resultsOf(Object.entries(model.metrics ?? {}).map(([card, metrics]) => ({ card, metrics })), known);
  const first = result?.metrics[0];
  return first ? `${titleOf(first[0], known)} ${figure(first[1])}` : '';
}

function Upload({ onDone, onError }: { onDone: (model: Model) => void; onError: (words: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [share, setShare] = useState<number | null>(null);
  const send = async (file: File) => {
    setShare(0);
    onError('');
    try {
      onDone(await upload<Model>(`/api/models/upload?name=${encodeURIComponent(file.name.replace(/\.tar$/, ''))}`, file, 'application/x-tar', setShare));
    } catch (failure) {
      onError(sentenceOf(failure));
    }
    setShare(null);
    if (field.current) field.current.value = '';
  };
  return (
    <>
      <input ref={field} className="hidden" type="file" accept=".tar" aria-label={models.uploadHelp} tabIndex={-1} onChange={(event) => event.target.files?.[0] && void send(event.target.files[0])} />
      <Button title={models.uploadHelp} disabled={share !== null} onClick={() => field.current?.click()}>
        {share === null ? models.upload : share < 1 ? shared.sent(Math.round(100 * share)) : shared.reading}
      </Button>
    </>
  );
}

function Curve({ model }: { model: Model }) {
  const [metrics] = useTexts(model.run ? [`/api/runs/${encodeURIComponent(model.run)}/files/metrics.csv`] : []);
  const curves = useMemo(() => curvesOf(metrics?.text ?? ''), [metrics?.text]);
  return <LossCurve curves={curves} version={0} empty={model.run && !metrics ? shared.loading : shared.noLoss} />;
}

export default function ModelsPage({ id }: { id?: string }) {
  const session = useSession((state) => state.session);
  const known = useMetrics();
  const all = useAllPages<Model>('/api/models', 'models');
  const [text, setText] = useState('');
  const [message, setMessage] = useState({ words: '', isBad: false });
  const rows = useMemo(() => filteredModels(all.rows, text), [all.rows, text]);
  const model = all.rows.find((each) => each.id === id);
  const columns: Column<Model>[] = [
    { name: 'name', title: models.columns.name, width: 'minmax(120px, 1.2fr)', cell: (each) => <span title={each.name}>{each.name}</span> },
    { name: 'family', title: models.columns.family, width: 'minmax(80px, 1fr)', cell: (each) => <span title={each.family}>{each.family.replaceAll('_', ' ')}</span> },
    { name: 'target', title: models.columns.target, width: 'minmax(60px, .8fr)', cell: (each) => <span title={each.target}>{each.target}</span> },
    { name: 'metric', title: runs.metricColumn, width: '110px', cell: (each) => <span className="num" title={leading(each, known)}>{leading(each, known)}</span> },
    { name: 'deployed', title: models.columns.deployed, width: 'minmax(80px, 1fr)', cell: (each) => <span title={each.deployed_as.join(', ')}>{each.deployed_as.join(', ')}</span> },
    { name: 'created', title: models.columns.created, width: '96px', right: true, cell: (each) => <span title={wholeMoment(each.created)}>{moment(each.created)}</span> },
  ];
  const empty = !all.isWhole ? (all.error ? null : shared.loading) : text.trim() ? models.emptyFilter : <p>{models.empty} <Link href="/">{jobs.toCanvas}</Link></p>;
  return (
    <div className="regions">
      <section className="middle" aria-label={models.list}>
        <div className="bar">
          <FindField value={text} onChange={setText} placeholder={models.find} label={models.find} />
          <span className="grow" />
          <span className="secondary num">{all.isWhole ? shared.shown(count(rows.length), count(all.rows.length)) : ''}</span>
          {mayChange(session) && <Upload
            onDone={(made) => { setMessage({ words: models.uploaded(made.name), isBad: false }); all.reload(); navigate(`/models/${made.id}`); }}
            onError={(words) => setMessage({ words, isBad: true })}
          />}
        </div>
        {all.error && <p className="notice" role="alert">{all.error}</p>}
        {message.words && <p className={`notice ${message.isBad ? '' : 'good'}`} role={message.isBad ? 'alert' : 'status'}>{message.words}</p>}
        <List label={models.list} columns={columns} rows={rows} keyOf={(each) => each.id} selected={id} empty={empty} onSelect={(each) => { setMessage({ words: '', isBad: false }); navigate(`/models/${each.id}`, { replace: id !== undefined }); }} />
      </section>
      <aside className="side" aria-label={models.inspector}>
        {model ? <ModelInspector key={model.id} model={model} onChange={all.reload} onRemoved={(words) => { setMessage({ words, isBad: false }); all.reload(); navigate('/models'); }} />
          : <p className="secondary">{id && all.isWhole ? models.gone : id ? shared.loading : shared.select}</p>}
      </aside>
      <footer className="now">{model ? <Curve model={model} /> : <p className="secondary">{shared.selectCurve}</p>}</footer>
    </div>
  );
}
