import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import type { CardType } from '../api/types';
import { addCard } from '../core/document';
import { freePlace } from '../core/layout';
import { text } from '../text';
import { Breakable } from '../ui/Breakable';
import { edit, select, useCanvas } from './canvas_store';
import { DocumentsPanel } from './DocumentsPanel';
import { cardsFound, colourOfGroup, type Group } from './groups';
import { insideOf, shownTypes } from './level';

export const cardTransfer = 'application/x-stoker-card';
export const searchId = 'find-card';

export function addFromPalette(type: string) {
  const beside = useCanvas.getState().selected.at(-1) ?? null;
  let id = '';
  edit((now) => {
    const added = addCard(now, type, freePlace(now, beside));
    id = added.id;
    return added.document;
  });
  select([id]);
  return id;
}

function focusCard(id: string) {
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`)?.focus()));
}

function Item({ type, group }: { type: CardType; group: Group }) {
  return (
    <button
      type="button"
      className="palette-item"
      title={type.help}
      draggable
      data-type={type.name}
      onDragStart={(event) => {
        event.dataTransfer.setData(cardTransfer, type.name);
        event.dataTransfer.effectAllowed = 'copy';
      }}
      onClick={() => focusCard(addFromPalette(type.name))}
    >
      <i className="dot" style={{ background: `var(--${colourOfGroup[group]})` }} />
      <span><Breakable words={type.title} /></span>
    </button>
  );
}

function Cards() {
  const types = useCanvas(shownTypes);
  const find = useCanvas((state) => (insideOf(state) === null ? text.canvas.find : text.graph.find));
  const [wanted, setWanted] = useState('');
  const list = useRef<HTMLDivElement>(null);
  const { groups: found, best } = cardsFound(types.values(), wanted);
  const groups = (Object.keys(found) as Group[]).filter((group) => found[group].length > 0);
  const items = () => [...(list.current?.querySelectorAll<HTMLElement>('.palette-item') ?? [])];

  const inSearch = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      items()[0]?.focus();
    }
    if (event.key === 'Enter' && best && wanted.trim() !== '') {
      setWanted('');
      focusCard(addFromPalette(best.name));
    }
    if (event.key === 'Escape') setWanted('');
  };
  const inList = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    const all = items();
    const next = all.indexOf(document.activeElement as HTMLElement) + (event.key === 'ArrowDown' ? 1 : -1);
    (all[next] ?? document.getElementById(searchId))?.focus();
  };

  return (
    <>
      <input id={searchId} className="input" type="search" placeholder={find} aria-label={find} value={wanted} onChange={(event) => setWanted(event.target.value)} onKeyDown={inSearch} />
      <div ref={list} onKeyDown={inList}>
        {groups.length === 0 && types.size > 0 && <p className="secondary">{text.canvas.noCard}</p>}
        {groups.map((group) => (
          <section key={group} className="palette-group">
            <h2>{text.canvas.groups[group]}</h2>
            {found[group].map((type) => <Item key={type.name} type={type} group={group} />)}
          </section>
        ))}
      </div>
    </>
  );
}

export function Palette() {
  const [tab, setTab] = useState<'cards' | 'documents'>('cards');
  const isInside = useCanvas((state) => insideOf(state) !== null);
  useEffect(() => setTab('cards'), [isInside]);
  return (
    <aside className="palette" aria-label={text.canvas.palette}>
      <div className="tabs" role="tablist">
        {(['cards', 'documents'] as const).map((each) => (
          <button key={each} type="button" role="tab" aria-selected={tab === each} className={tab === each ? 'on' : ''} onClick={() => setTab(each)}>{each === 'cards' && isInside ? text.graph.nodes : text.canvas[each]}</button>
        ))}
      </div>
      <div className="palette-body">{tab === 'cards' ? <Cards /> : <DocumentsPanel />}</div>
    </aside>
  );
}
