import { typeOf } from '../core/document';
import { setTrained, trainedNodes } from '../core/node_graph';
import { describePort } from '../core/ports';
import { own } from '../core/own';
import { text } from '../text';
import { Button } from '../ui/Button';
import { Field } from '../ui/Field';
import { editDocument, removeSelected, useCanvas } from './canvas_store';
import { colourOfPort } from './groups';
import { shownProblems, shownTree, shownTypes } from './level';
import { Needs } from './Needs';
import { Rename } from './Rename';
import { SettingsForm } from './SettingsForm';

function Trained({ card, node }: { card: string; node: string }) {
  const isTrained = useCanvas((state) => trainedNodes(state.history.now, card).includes(node));
  return (
    <Field label={text.graph.trained} help={text.graph.trainedHelp}>
      {(given) => (
        <select {...given} className="input" value={String(isTrained)} onChange={(event) => editDocument((now) => setTrained(now, card, node, event.target.value === 'true'))}>
          <option value="false">{text.inspector.offWord}</option>
          <option value="true">{text.inspector.onWord}</option>
        </select>
      )}
    </Field>
  );
}

// What comes out of it, with the shapes as the service has found them for this node, else those of its type.
function Gives({ card, node }: { card: string; node: string }) {
  const type = useCanvas((state) => shownTypes(state).get(typeOf(shownTree(state), node)));
  const known = useCanvas((state) => own(own(state.graphs, card), node)?.outputs);
  const outputs = known && known.length > 0 ? known : (type?.outputs ?? []);
  if (outputs.length === 0) return null;
  return (
    <section className="needs">
      <h2>{text.graph.gives}</h2>
      {outputs.map((port) => (
        <div key={port.name} className="need gives" title={port.help}>
          <i className="dot" style={{ background: `var(--${colourOfPort(port)})` }} />
          <span>{port.name}</span>
          <span className="secondary num">{describePort(port)}</span>
        </div>
      ))}
    </section>
  );
}

export function OneNode({ card, node }: { card: string; node: string }) {
  const type = useCanvas((state) => shownTypes(state).get(typeOf(shownTree(state), node)));
  const name = useCanvas((state) => typeOf(shownTree(state), node));
  return (
    <>
      <h1>{type?.title ?? name}</h1>
      <div className="secondary">{text.graph.node} <b>{node}</b></div>
      {type?.help && <p className="secondary gap">{type.help}</p>}
      <SettingsForm card={node} />
      {type?.hasTrainable && <Trained card={card} node={node} />}
      <Needs card={node} />
      <Gives card={card} node={node} />
      <Rename card={node} />
      <Button kind="danger" className="gap" onClick={removeSelected}>{text.graph.remove}</Button>
    </>
  );
}

// Nothing of the graph is selected: what it is, and what is wrong with it as a whole.
export function WholeGraph({ card }: { card: string }) {
  const problems = useCanvas(shownProblems);
  return (
    <>
      <h1>{text.graph.title}</h1>
      <div className="secondary">{text.inspector.card} <b>{card}</b></div>
      <p className="secondary gap">{text.graph.description}</p>
      {problems.filter((each) => !each.path.startsWith('cards.')).map((each) => <p key={each.path + each.message} className="field-error">{each.path} {each.message}</p>)}
    </>
  );
}
