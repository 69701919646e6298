import { text } from '../text';
import { examples } from './examples';
import { openFile } from './saving';

export function Welcome() {
  return (
    <div className="welcome nodrag nopan nowheel">
      <h1>{text.canvas.welcome}</h1>
      <p className="secondary">{text.canvas.welcomeHelp}</p>
      <div className="welcome-list">
        {examples.map((example) => (
          <button key={example.name} type="button" className="welcome-item" onClick={() => void openFile(example.content)}>
            <b>{example.title}</b>
            <span className="secondary">{text.canvas.exampleHelp[example.name]}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
