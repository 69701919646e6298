import { connect, connectionsTo, disconnect, typeOf, type Connection } from '../core/document';
import { choicesFor, describePort } from '../core/ports';
import { text } from '../text';
import { Button } from '../ui/Button';
import { edit, useCanvas } from './canvas_store';
import { problemsOf } from './face';
import { colourOfPort } from './groups';
import { shownProblems, shownTree, shownTypes, shownWarnings } from './level';

const source = (each: Connection) => `${each.from}.${each.output}`;

// What the card reads, and from whom: the connections of the canvas, for the keyboard and for many cards.
export function Needs({ card }: { card: string }) {
  const document = useCanvas(shownTree);
  const types = useCanvas(shownTypes);
  const problems = useCanvas(shownProblems);
  const warnings = useCanvas(shownWarnings);
  const type = types.get(typeOf(document, card));
  if (!type || type.inputs.length === 0) return null;
  const connected = connectionsTo(document, card);
  return (
    <section data-part="needs" className="needs">
      <h2>{text.inspector.needs}</h2>
      {type.inputs.map((input) => {
        const now = connected.filter((each) => each.input === input.name);
        const choices = choicesFor(types, document, card, input.name).filter((each) => !input.several || !now.some((old) => source(old) === source(each)));
        const path = `cards.${card}.inputs.${input.name}`;
        const error = problemsOf(problems, card).find((each) => each.path === path)?.message;
        const warning = warnings.find((each) => each.path === path || each.path.startsWith(`${path}.`))?.message;
        const single = now[0];
        const choose = (chosen: string) => {
          const made = choices.find((each) => source(each) === chosen);
          if (made) edit((before) => connect(before, made, input.several));
          else if (!input.several && single) edit((before) => disconnect(before, single));
        };
        return (
          <div key={input.name} className="need">
            <label className="need-name" title={input.shape ? `${input.help}, ${describePort(input)}` : input.help}>
              <i className="dot" style={{ background: `var(--${colourOfPort(input)})` }} />
              <span>{input.name}</span>
              <select className="input" value={input.several ? '' : single ? source(single) : ''} aria-invalid={Boolean(error)} onChange={(event) => choose(event.target.value)}>
                <option value="">{input.several && now.length > 0 ? text.inspector.addConnection : choices.length > 0 || single ? text.inspector.notConnected : text.inspector.nothingFits}</option>
                {!input.several && single && !choices.some((each) => source(each) === source(single)) && <option value={source(single)}>{source(single)}</option>}
                {choices.map((each) => <option key={source(each)} value={source(each)}>{source(each)}</option>)}
              </select>
            </label>
            {input.several && now.map((each) => (
              <div key={source(each)} className="row several">
                <span className="grow">← {source(each)}</span>
                <Button kind="quiet" aria-label={text.inspector.removeConnection(source(each))} onClick={() => edit((before) => disconnect(before, each))}>✕</Button>
              </div>
            ))}
            {error && <div className="field-error">{error}</div>}
            {warning && <div className="field-warning">{warning}</div>}
          </div>
        );
      })}
    </section>
  );
}
