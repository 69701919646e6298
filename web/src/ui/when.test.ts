import { describe, expect, it } from 'vitest';
import { moment, secondsBetween } from './when';

const local = (text: string) => new Date(text).toISOString(); // without a zone: of this machine

describe('moments', () => {
  const now = new Date('2026-11-17T15:00:00');
  it('are told by the clock on the same day', () => expect(moment(local('2026-11-17T09:05:03'), now)).toBe('09:05:03'));
  it('have their day before that, and their year where it is another', () => {
    expect(moment(local('2026-03-01T09:05:03'), now)).toBe('1 Mar 09:05');
    expect(moment(local('2024-12-31T23:00:00'), now)).toBe('31 Dec 2024');
  });
  it('that are none are a dash', () => {
    expect(moment(undefined, now)).toBe('–');
    expect(moment('soon', now)).toBe('–');
  });
});

describe('the time between two moments', () => {
  const from = '2026-11-17T12:00:00.000Z';
  it('is counted in seconds', () => expect(secondsBetween(from, '2026-11-17T12:00:01.500Z')).toBe(1.5));
  it('goes on until now', () => expect(secondsBetween(from, undefined, new Date('2026-11-17T12:01:00Z'))).toBe(60));
  it('is never below zero, and none without a beginning', () => {
    expect(secondsBetween(from, '2026-11-17T11:00:00Z')).toBe(0);
    expect(secondsBetween(undefined, from)).toBeNull();
  });
});
