export interface ServerEvent {
  id: string;
  name: string;
  data: Record<string, unknown>;
}

// Takes a stream of server-sent events piece by piece, wherever it was cut, and gives whole events.
export class EventText {
  private rest = '';

  add(piece: string): ServerEvent[] {
    const blocks = (this.rest + piece).split('\n\n');
    this.rest = blocks.pop() ?? '';
    return blocks.map(eventOf).filter((event) => event !== null);
  }
}

function eventOf(block: string): ServerEvent | null {
  const event: ServerEvent = { id: '', name: 'message', data: {} };
  let data = '';
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue; // a comment keeps the connection open
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    const name = line.slice(0, colon);
    if (name === 'id') event.id = value;
    if (name === 'event') event.name = value;
    if (name === 'data') data += value;
  }
  if (!data) return null;
  event.data = JSON.parse(data) as Record<string, unknown>;
  return event;
}
