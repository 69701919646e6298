import type { PlotSeries } from './plot_data';

// Losses by epoch. However many epochs there are, a curve keeps at most so many points: past that, every second one goes.
export const mostPoints = 4000;

export interface Curve {
  epochs: number[];
  train: (number | null)[];
  validation: (number | null)[];
}

export class GrowingCurve implements Curve {
  epochs: number[] = [];
  train: (number | null)[] = [];
  validation: (number | null)[] = [];
  private stride = 1;
  last = 0; // epoch, kept or not

  add(epoch: number, train: number | null, validation: number | null) {
    if (epoch <= this.last) return; // told again, as after a resume
    this.last = epoch;
    if ((epoch - 1) % this.stride !== 0) return;
    this.epochs.push(epoch);
    this.train.push(train);
    this.validation.push(validation);
    if (this.epochs.length < mostPoints) return;
    this.stride *= 2;
    const isKept = (_: unknown, place: number) => (this.epochs[place]! - 1) % this.stride === 0;
    const train_ = this.train.filter(isKept);
    const validation_ = this.validation.filter(isKept);
    this.epochs = this.epochs.filter(isKept);
    this.train = train_;
    this.validation = validation_;
  }
}

const cell = (text: string | undefined): number | null => {
  const value = text ? Number(text) : NaN;
  return Number.isFinite(value) ? value : null;
};

// metrics.csv of a run: of each card that trained its curve.
export function curvesOf(csv: string): Map<string, GrowingCurve> {
  const lines = csv.split('\n');
  const names = (lines[0] ?? '').split(',');
  const [epoch, card, train, validation] = ['epoch', 'card', 'train_loss', 'validation_loss'].map((name) => names.indexOf(name));
  const curves = new Map<string, GrowingCurve>();
  for (const line of lines.slice(1)) {
    const cells = line.split(',');
    if (cells.length !== names.length) continue; // cut short by a process that was killed
    const of = cells[card!] ?? '';
    let curve = curves.get(of);
    if (!curve) curves.set(of, (curve = new GrowingCurve()));
    curve.add(Number(cells[epoch!]), cell(cells[train!]), cell(cells[validation!]));
  }
  return curves;
}

export const hasValidation = (curve: Curve): boolean => curve.validation.some((value) => value !== null);

// Copies, so that a plot sees what was added.
export function lossSeries(curve: Curve | undefined, names: { train: string; validation: string }): PlotSeries[] {
  if (!curve) return [];
  const x = [...curve.epochs];
  const series: PlotSeries[] = [{ label: names.train, colour: 'ember', kind: 'line', x, y: [...curve.train] }];
  if (hasValidation(curve)) series.push({ label: names.validation, colour: 'run', kind: 'line', x, y: [...curve.validation] });
  return series;
}
