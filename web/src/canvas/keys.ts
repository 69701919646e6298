import { cardIds, disconnect, moveCards, type Point, type Tree } from '../core/document';
import { placesOf } from '../core/layout';
import { own } from '../core/own';
import { copySelected, edit, goInside, paste, redoEdit, removeSelected, select, shown, undoEdit, useCanvas } from './canvas_store';
import { insideOf, isGraph } from './level';
import { searchId } from './Palette';
import { startRun } from './run_store';
import { save } from './saving';

const arrows: Record<string, Point> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export const nodeElement = (id: string) => document.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`);

// The nearest card in a direction; what lies off to the side counts double.
export function nextCard(document: Tree, from: string | null, [dx, dy]: Point): string | null {
  const places = placesOf(document);
  const start = from === null ? undefined : own(places, from);
  if (!start) return cardIds(document)[0] ?? null;
  let best: string | null = null;
  let least = Infinity;
  for (const [id, [x, y]] of Object.entries(places)) {
    const along = (x - start[0]) * dx + (y - start[1]) * dy;
    const across = Math.abs((x - start[0]) * dy) + Math.abs((y - start[1]) * dx);
    if (id === from || along <= 0 || across > along * 3) continue;
    if (along + 2 * across < least) {
      least = along + 2 * across;
      best = id;
    }
  }
  return best;
}

function onArrow(event: KeyboardEvent, by: Point) {
  event.preventDefault();
  const { selected } = useCanvas.getState();
  if (event.shiftKey && selected.length > 0) {
    const places = placesOf(shown());
    edit((now) => moveCards(now, Object.fromEntries(selected.map((id): [string, Point] => [id, [places[id]![0] + 20 * by[0], places[id]![1] + 20 * by[1]]]))), `move ${selected.join()}`);
    return;
  }
  const next = nextCard(shown(), selected.at(-1) ?? null, by);
  if (!next) return;
  select([next]);
  nodeElement(next)?.focus();
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
const isOnCanvas = (target: EventTarget | null) =>
  target === document.body || (target instanceof HTMLElement && target.closest('.canvas-area') !== null);

function onCommand(event: KeyboardEvent): boolean {
  const key = event.key.toLowerCase();
  if (key === 's') void save();
  else if (key === 'enter') void startRun();
  else if (isTyping(event.target)) return false;
  else if (key === 'z' && !event.shiftKey) undoEdit();
  else if (key === 'y' || key === 'z') redoEdit();
  else if (key === 'a' && isOnCanvas(event.target)) select(cardIds(shown()));
  else if (key === 'c' && !window.getSelection()?.toString()) copySelected();
  else if (key === 'v') paste();
  else return false;
  return true;
}

export function onKey(event: KeyboardEvent) {
  if (event.defaultPrevented) return;
  if (event.ctrlKey || event.metaKey) {
    if (onCommand(event)) event.preventDefault();
    return;
  }
  const { selected } = useCanvas.getState();
  const last = selected.at(-1);
  if (event.key === 'Escape' && !isOnCanvas(event.target)) {
    if (last) nodeElement(last)?.focus();
    else (document.activeElement as HTMLElement | null)?.blur();
    return;
  }
  if (isTyping(event.target) || event.altKey) return;
  if (event.key === '/') {
    event.preventDefault();
    document.getElementById(searchId)?.focus();
    return;
  }
  if (!isOnCanvas(event.target)) return;
  const arrow = arrows[event.key];
  if (arrow) return onArrow(event, arrow);
  const isButton = event.target instanceof HTMLElement && event.target.tagName === 'BUTTON';
  const state = useCanvas.getState();
  const inside = insideOf(state);
  if (event.key === 'Enter' && event.shiftKey && (inside ?? last)) void startRun(inside ?? last);
  else if (event.key === 'Enter' && last && !isButton) focusIn('[data-part="settings"]', event);
  else if (event.key.toLowerCase() === 'n' && last) focusIn('[data-part="needs"]', event);
  else if (event.key === 'Delete' || event.key === 'Backspace') removeSelectedThing();
  else if (event.key.toLowerCase() === 'g' && last && inside === null && isGraph(state, shown(), last)) goInside(last);
  else if (event.key === 'Escape' && inside !== null && selected.length === 0 && !state.selectedWire) leaveGraph();
  else if (event.key === 'Escape') select([]);
}

// Back to the card that the graph belongs to.
export function leaveGraph() {
  const { inside } = useCanvas.getState();
  goInside(null);
  if (inside) requestAnimationFrame(() => requestAnimationFrame(() => nodeElement(inside)?.focus()));
}

function focusIn(part: string, event: KeyboardEvent) {
  event.preventDefault();
  document.querySelector<HTMLElement>(`${part} :is(input, select, textarea, button)`)?.focus();
}

function removeSelectedThing() {
  const { selectedWire, selected } = useCanvas.getState();
  if (selectedWire) return removeWire();
  const next = selected.length === 1 ? (nextCard(shown(), selected[0]!, [-1, 0]) ?? nextCard(shown(), selected[0]!, [1, 0])) : null;
  removeSelected();
  if (next && cardIds(shown()).includes(next)) {
    select([next]);
    requestAnimationFrame(() => nodeElement(next)?.focus());
  }
}

export function removeWire() {
  const { selectedWire } = useCanvas.getState();
  if (!selectedWire) return;
  edit((now) => disconnect(now, selectedWire));
  useCanvas.setState({ selectedWire: null });
}
