// Numbers and times as people read them.
export const count = (value: number): string => value.toLocaleString('en');

export function short(value: number): string {
  if (Math.abs(value) >= 1e9) return `${(value / 1e9).toPrecision(3)} G`;
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (Math.abs(value) >= 1e4) return `${(value / 1e3).toPrecision(3)} k`;
  return Number(value.toPrecision(3)).toLocaleString('en');
}

export function time(seconds: number): string {
  if (seconds < 0.001) return '< 1 ms';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toPrecision(2)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} GB`;
  return value >= 1e6 ? `${(value / 1e6).toPrecision(3)} MB` : `${Math.round(value / 1e3)} kB`;
}

export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(3);
  return value.toLocaleString('en', { maximumSignificantDigits: 5 });
}
