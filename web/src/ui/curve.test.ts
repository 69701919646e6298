import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { curvesOf, GrowingCurve, lossSeries, mostPoints } from './curve';

const names = { train: 'training', validation: 'validation' };

describe('a curve that grows', () => {
  it('keeps its first epoch and equal steps, and never too many points', () => {
    const curve = new GrowingCurve();
    for (let epoch = 1; epoch <= 100_000; ++epoch) curve.add(epoch, 1 / epoch, null);
    expect(curve.epochs.length).toBeLessThan(mostPoints);
    expect(curve.epochs.length).toBeGreaterThan(mostPoints / 4);
    expect(curve.epochs[0]).toBe(1);
    const step = curve.epochs[1]! - curve.epochs[0]!;
    expect(curve.epochs.every((epoch, place) => epoch === 1 + place * step && curve.train[place] === 1 / epoch)).toBe(true);
    expect(curve.validation.length).toBe(curve.epochs.length);
  });

  it('takes no epoch twice', () => {
    const curve = new GrowingCurve();
    for (const epoch of [1, 2, 2, 1, 3]) curve.add(epoch, epoch, null);
    expect(curve.epochs).toEqual([1, 2, 3]);
  });

  it('has a line of validation only where there is one', () => {
    const curve = new GrowingCurve();
    curve.add(1, 0.5, null);
    expect(lossSeries(curve, names).map((each) => each.label)).toEqual(['training']);
    curve.add(2, 0.4, 0.6);
    expect(lossSeries(curve, names).map((each) => each.y)).toEqual([[0.5, 0.4], [null, 0.6]]);
    expect(lossSeries(undefined, names)).toEqual([]);
  });
});

describe('metrics.csv', () => {
  it('gives a curve to each card, and leaves out a line that was cut short', () => {
    const curves = curvesOf('epoch,card,train_loss,validation_loss,seconds\n1,a,0.5,0.6,1\n1,b,0.9,,1\n2,a,0.25,nan,1\n3,a,0.1');
    expect([...curves.keys()]).toEqual(['a', 'b']);
    expect(curves.get('a')!.train).toEqual([0.5, 0.25]);
    expect(curves.get('a')!.validation).toEqual([0.6, null]);
    expect(curves.get('b')!.validation).toEqual([null]);
  });
  it('of a run that trained nothing is empty', () => expect(curvesOf('').size).toBe(0));
});

it('training and validation have the colours that they have in report.html and the pictures', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const first = (text: string, name: string) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(text)?.[1];
  const curve = new GrowingCurve();
  curve.add(1, 0.5, 0.6);
  const [training, validation] = lossSeries(curve, names);
  const page = read('./tokens.css');
  const report = read('../../../src/report/page/report.css');
  expect(first(report, 'training')).toBe(first(page, training!.colour));
  expect(first(report, 'validation')).toBe(first(page, validation!.colour));
});
