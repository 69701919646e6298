import { useCallback, useEffect, useRef, useState } from 'react';
import { sentenceOf } from '../api/client';
import type { DocumentVersion, SavedDocument } from '../api/types';
import { Link } from '../app/router';
import { writeText } from '../core/document_text';
import { text } from '../text';
import { shared } from '../text/shared';
import { Button } from '../ui/Button';
import { currentText, say, tree, useCanvas } from './canvas_store';
import { examples } from './examples';
import { download, listDocuments, listVersions, openFile, openVersion, removeDocument, startNew } from './saving';

function Versions({ id, version }: { id: string; version: number }) {
  const [versions, setVersions] = useState<DocumentVersion[]>([]);
  useEffect(() => void listVersions(id).then(setVersions, (error) => say(sentenceOf(error), true)), [id, version]);
  return (
    <section className="palette-group">
      <h2>{text.documents.versions}</h2>
      {versions.slice(0, 20).map((each) => (
        <div key={each.version} className="row shelf-row">
          <span className="grow secondary">{each.version} · {new Date(each.time).toLocaleString('en', { dateStyle: 'short', timeStyle: 'short' })}</span>
          {each.version === version ? <span className="secondary">{text.documents.now}</span> : (
            <Button kind="quiet" onClick={() => void openVersion(id, each.version)} aria-label={`${text.documents.show} ${text.head.version(each.version)}`}>{text.documents.show}</Button>
          )}
        </div>
      ))}
    </section>
  );
}

export function DocumentsPanel() {
  const { id, version } = useCanvas();
  const [documents, setDocuments] = useState<SavedDocument[]>([]);
  const [asked, setAsked] = useState(''); // the document whose deletion is asked about
  const file = useRef<HTMLInputElement>(null);

  const look = useCallback(async () => {
    try {
      setDocuments(await listDocuments());
    } catch (error) {
      say(sentenceOf(error), true);
    }
  }, []);
  useEffect(() => void look(), [look, id, version]);

  return (
    <div className="documents">
      <div className="row wrap">
        <Button onClick={() => void startNew()}>{text.documents.newDocument}</Button>
        <Button onClick={() => file.current?.click()}>{text.documents.openFile}</Button>
        <input ref={file} type="file" accept=".yaml,.yml,.json" className="hidden" tabIndex={-1} aria-label={text.documents.openFile} onChange={async (event) => {
          const chosen = event.target.files?.[0];
          event.target.value = '';
          if (chosen) await openFile(await chosen.text());
        }} />
        <Button onClick={() => download('yaml', writeText(tree(), useCanvas.getState().form === 'yaml' ? currentText() : '', 'yaml'))}>{text.documents.asYaml}</Button>
        <Button onClick={() => download('json', writeText(tree(), useCanvas.getState().form === 'json' ? currentText() : '', 'json'))}>{text.documents.asJson}</Button>
      </div>
      {id && <Versions id={id} version={version} />}
      <section className="palette-group">
        <h2>{text.documents.saved}</h2>
        {documents.length === 0 && <p className="secondary">{text.documents.none}</p>}
        {documents.map((each) => (
          <div key={each.id} className="row shelf-row">
            <Link className={`grow shelf-link ${each.id === id ? 'on' : ''}`} href={`/documents/${each.id}`} title={each.name}>{each.name}</Link>
            {asked !== each.id && <Button kind="quiet" aria-label={text.documents.remove(each.name)} title={text.documents.remove(each.name)} onClick={() => setAsked(each.id)}>✕</Button>}
            {asked === each.id && (
              <div className="confirm" role="group" aria-label={text.documents.remove(each.name)}>
                <p>{text.documents.removeAll}</p>
                <div className="row wrap">
                  <Button kind="danger" autoFocus onClick={() => { setAsked(''); void removeDocument(each.id).then(look); }}>{text.documents.removeIt}</Button>
                  <Button onClick={() => setAsked('')}>{shared.keep}</Button>
                </div>
              </div>
            )}
          </div>
        ))}
      </section>
      <section className="palette-group">
        <h2>{text.documents.examples}</h2>
        {examples.map((example) => (
          <button key={example.name} type="button" className="palette-item" title={text.canvas.exampleHelp[example.name]} onClick={() => void openFile(example.content)}>{example.title}</button>
        ))}
      </section>
    </div>
  );
}
