import type { ServerEvent } from '../api/event_text';
import type { Progress } from '../api/types';
import { GrowingCurve } from '../ui/curve';

const mostLines = 2000;

export interface CardNews {
  card: string;
  state: 'running' | 'done' | 'reused';
  seconds: number | null;
}

export interface Note {
  message: string;
  card: string;
  isWarning: boolean;
}

// What the events of a job have told so far. There may be very many of them, so it grows in place; version says that it did.
export class JobNews {
  version = 0;
  state = '';
  progress: Progress | null = null;
  readonly curves = new Map<string, GrowingCurve>();
  readonly cards: CardNews[] = [];
  readonly notes: Note[] = [];
  log: string[] = [];

  take({ name, data }: ServerEvent) {
    ++this.version;
    const card = String(data.card ?? '');
    if (name === 'state') this.takeState(String(data.state));
    else if (name === 'progress') this.progress = data as Progress;
    else if (name === 'card_started') this.setCard(card, 'running', null);
    else if (name === 'card_finished') this.setCard(card, data.reused ? 'reused' : 'done', Number(data.seconds));
    else if (name === 'epoch_finished') this.takeEpoch(card, data);
    else if (name === 'note') this.takeNote({ message: String(data.message ?? ''), card, isWarning: data.severity === 'warning' });
    else if (name === 'log') this.takeLine(String(data.line ?? ''));
  }

  private takeState(state: string) {
    this.state = state;
    if (state !== 'running') this.progress = null;
  }

  private setCard(card: string, state: CardNews['state'], seconds: number | null) {
    const known = this.cards.find((each) => each.card === card);
    if (known) Object.assign(known, { state, seconds });
    else this.cards.push({ card, state, seconds });
  }

  private takeEpoch(card: string, data: Record<string, unknown>) {
    let curve = this.curves.get(card);
    if (!curve) this.curves.set(card, (curve = new GrowingCurve()));
    const loss = (value: unknown) => (typeof value === 'number' ? value : null);
    curve.add(Number(data.epoch), loss(data.train_loss), loss(data.validation_loss));
  }

  // A job that is resumed notes the same again.
  private takeNote(note: Note) {
    if (!this.notes.some((each) => each.message === note.message && each.card === note.card)) this.notes.push(note);
  }

  private takeLine(line: string) {
    this.log.push(line);
    if (this.log.length > 2 * mostLines) this.log = this.log.slice(-mostLines);
  }
}
