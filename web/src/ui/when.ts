// Moments as people read them; a title has the whole of it.
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (value: number) => String(value).padStart(2, '0');

// "12:04:35" of today, else "17 Nov 12:04", with the year where it is another; in the time zone of the browser.
export function moment(iso: string | undefined, now: Date = new Date()): string {
  const at = new Date(iso ?? '');
  if (Number.isNaN(at.getTime())) return '–';
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === now.toDateString()) return `${clock}:${two(at.getSeconds())}`;
  const day = `${at.getDate()} ${months[at.getMonth()]}`;
  return at.getFullYear() === now.getFullYear() ? `${day} ${clock}` : `${day} ${at.getFullYear()}`;
}

export const wholeMoment = (iso: string | undefined): string => (iso ? new Date(iso).toLocaleString('en-GB') : '');

// Seconds from one moment to another, to now where the second is not there yet.
export function secondsBetween(from: string | undefined, to: string | undefined, now: Date = new Date()): number | null {
  if (!from) return null;
  const seconds = ((to ? new Date(to) : now).getTime() - new Date(from).getTime()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
