import { Handle, Position, type NodeProps } from '@xyflow/react';
import { memo } from 'react';
import type { CardInput, CardOutput, NodePort } from '../api/types';
import { typeOf } from '../core/document';
import { describePort, readableOutputs } from '../core/ports';
import { text } from '../text';
import { Breakable } from '../ui/Breakable';
import { Pill } from '../ui/Pill';
import { useCanvas } from './canvas_store';
import { useCardFace } from './card_face';
import { problemsOf } from './face';
import { colourOfPort } from './groups';
import { insideOf, shownTree, shownTypes, shownWarnings } from './level';

const firstPort = 34;
const betweenPorts = 22;
export const heightOf = (ports: number) => Math.max(92, firstPort + ports * betweenPorts);

export const CardNode = memo(function CardNode({ id, selected }: NodeProps) {
  const type = useCanvas((state) => shownTypes(state).get(typeOf(shownTree(state), id)));
  const types = useCanvas(shownTypes);
  const known = useCanvas((state) => state.graphs[insideOf(state) ?? '']?.[id]);
  const face = useCardFace(id);
  const warning = useCanvas((state) => problemsOf(shownWarnings(state), id).map((each) => each.message).join('\n'));
  const outputs = type ? readableOutputs(types, type) : [];
  const inputs = type?.inputs ?? [];
  const isWrong = face.state === 'failed' || (!face.state && / problem/.test(face.foot));
  const state = face.state ? ((text.states as Record<string, string>)[face.state] ?? face.state) : face.foot;
  // With the shape that is known of this very node, else that of its type.
  const titleOf = (port: CardInput | CardOutput, own: NodePort[] | undefined) =>
    `${port.name}${port.shape ? `, ${describePort(own?.find((each) => each.name === port.name) ?? port)}` : ''}: ${port.help}`;
  return (
    <div className={`card ${selected ? 'sel' : ''} ${isWrong ? 'wrong' : ''}`} style={{ minHeight: heightOf(Math.max(inputs.length, outputs.length)) }} aria-label={(type?.kind ? text.graph.nodeLabel : text.canvas.cardLabel)(face.title, id, state)} role="group">
      <div className="card-title" title={face.title}><Breakable words={face.title} /></div>
      {warning && <div className="card-warning" title={warning} role="img" aria-label={text.canvas.warning(warning)}>!</div>}
      <div className="card-line" title={face.line}>{face.line || ' '}</div>
      <div className="card-rest" />
      {face.share !== null && <div className="card-bar"><i style={{ width: `${Math.round(100 * face.share)}%` }} /></div>}
      <div className="card-foot">
        <span className={`num card-foot-text ${isWrong ? 'bad' : ''}`} title={face.foot || id}>{face.foot || id}</span>
        {face.state && <Pill state={face.state} />}
      </div>
      {inputs.map((port, place) => (
        <Handle key={port.name} id={port.name} type="target" position={Position.Left} className="port" title={titleOf(port, known?.inputs)} aria-hidden style={{ top: firstPort + place * betweenPorts, background: `var(--${colourOfPort(port)})` }} />
      ))}
      {outputs.map((port, place) => (
        <Handle key={port.name} id={port.name} type="source" position={Position.Right} className="port" title={titleOf(port, known?.outputs)} aria-hidden style={{ top: firstPort + place * betweenPorts, background: `var(--${colourOfPort(port)})` }} />
      ))}
    </div>
  );
});
