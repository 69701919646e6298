import { describe, expect, it } from 'vitest';
import { axisOf, pointsOf, settingsIn, sortedTrials, trialsTold, type Trial } from './trials';

const trial = (number: number, score: number | null, settings: Trial['settings']): Trial => ({ trial: number, status: 'finished', score, spread: 0, epochs: 5, seconds: 1, settings });
const trials = [
  trial(3, 0.1, { 'model.learning_rate': '0.01', 'model.hidden_layers': '[64,32]' }),
  trial(1, 0.2, { 'model.learning_rate': '0.001', 'model.hidden_layers': '[8]' }),
  trial(2, null, { 'model.learning_rate': '0.1', 'model.hidden_layers': '[8]' }),
];

describe('an axis', () => {
  it('has numbers where a setting has them', () => expect(axisOf(trials, 'model.learning_rate')).toEqual({ values: [0.01, 0.001, 0.1], words: null }));
  it('has a place for each value where they are none', () => {
    expect(axisOf(trials, 'model.hidden_layers')).toEqual({ values: [1, 0, 0], words: ['[8]', '[64,32]'] });
  });
  it('may be a figure of the trial', () => expect(axisOf(trials, 'score').values).toEqual([0.1, 0.2, null]));
});

it('points are those with both values that their axes can show', () => {
  const x = axisOf(trials, 'model.hidden_layers');
  const y = axisOf(trials, 'score');
  expect(pointsOf(x, y, { x: false, y: false })).toEqual({ x: [1, 0], y: [0.1, 0.2], trials: [0, 1] });
  expect(pointsOf(x, y, { x: true, y: true }).trials).toEqual([0]);
});

it('trials are sorted by a setting or a figure, those without it last', () => {
  const order = (column: string, isDown: boolean) => sortedTrials(trials, { column, isDown }).map((each) => each.trial);
  expect(order('model.learning_rate', false)).toEqual([1, 3, 2]);
  expect(order('score', true)).toEqual([1, 3, 2]);
  expect(order('score', false)).toEqual([3, 1, 2]);
  expect(sortedTrials(trials, null)).toBe(trials);
});

it('trials that are told while a search runs stand in their order, each as it was told last', () => {
  const told = (number: number, score: number | null, isHigher: boolean) => ({ ...trial(number, score, {}), metric: 'r2', higher_is_better: isHigher });
  expect(trialsTold([told(1, 0.2, true), told(2, 0.9, true), told(3, null, true), told(1, 0.95, true)]).map((each) => [each.trial, each.score])).toEqual([[1, 0.95], [2, 0.9], [3, null]]);
  expect(trialsTold([told(1, 0.2, false), told(2, 0.1, false)]).map((each) => each.trial)).toEqual([2, 1]);
  expect(trialsTold([])).toEqual([]);
});

it('settings are listed as they come', () => expect(settingsIn(trials)).toEqual(['model.learning_rate', 'model.hidden_layers']));
