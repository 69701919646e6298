import { describe, expect, it } from 'vitest';
import { EventText } from './event_text';

const whole = 'id: 1-0-0\nevent: state\ndata: {"state":"queued"}\n\n: still here\n\nevent: progress\ndata: {"step":3}\n\n';

describe('server-sent events', () => {
  it('are read whole wherever the stream was cut', () => {
    for (let cut = 0; cut <= whole.length; cut++) {
      const events = new EventText();
      const got = [...events.add(whole.slice(0, cut)), ...events.add(whole.slice(cut))];
      expect(got).toEqual([
        { id: '1-0-0', name: 'state', data: { state: 'queued' } },
        { id: '', name: 'progress', data: { step: 3 } },
      ]);
    }
  });

  it('wait for their end', () => expect(new EventText().add('event: log\ndata: {"line":"a"}\n')).toEqual([]));
});
