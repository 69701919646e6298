import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { moveCards, removeCards, renameCard, setSetting, addCard, connect } from './document';
import { isOfCuvis, readText, sameValue, writeText } from './document_text';

const examples = new URL('../../../examples/', import.meta.url);
const files = readdirSync(examples).filter((name) => /\.(yaml|json)$/.test(name));
const content = (name: string) => readFileSync(new URL(name, examples), 'utf8');

describe('the text of a document', () => {
  it.each(files)('%s comes back byte for byte where nothing was changed', (name) => {
    const { tree, isUpgraded, form } = readText(content(name));
    if (!isUpgraded) expect(writeText(tree, content(name))).toBe(content(name));
    expect(sameValue(readText(writeText(tree, '', form)).tree, tree)).toBe(true);
  });

  it('keeps comments, order and what the canvas does not know through edits', () => {
    const before = content('boston_housing.yaml');
    const { tree } = readText(before);
    const text = writeText(setSetting(tree, 'model', ['epochs'], 7), before);
    expect(text).toBe(before.replace('epochs: 50', 'epochs: 7'));
    const moved = writeText(moveCards(tree, { split: [300, 10] }), before);
    expect(moved).toBe(before.replace('split: [260, 0]', 'split: [300, 10]'));
  });

  it('is what the tree says after any edit', () => {
    for (const name of files) {
      const { tree } = readText(content(name));
      const first = Object.keys(tree.cards as object)[0]!;
      const added = addCard(tree, 'data_split', [1, 2]);
      const edits = [
        removeCards(tree, [first]),
        renameCard(tree, first, 'other'),
        connect(added.document, { from: first, output: 'dataset', to: added.id, input: 'dataset' }, false),
        setSetting(tree, first, ['columns'], ['a', 'b: c', 'yes', '0x10', '1e5', 'null', '# no comment']),
      ];
      for (const edited of edits) expect(sameValue(readText(writeText(edited, content(name))).tree, edited)).toBe(true);
    }
  });

  it('keeps numbers that are too large for the page', () => {
    const text = 'version: 1\ncards:\n  split:\n    type: data_split\n    config: { random_seed: 18446744073709551615, train_ratio: 1e-3 }\n';
    const { tree } = readText(text);
    const renamed = writeText({ ...tree, name: 'b' }, text);
    expect(renamed).toContain('random_seed: 18446744073709551615, train_ratio: 1e-3');
    expect(writeText(tree, '', 'json')).toContain('18446744073709551615');
  });

  it('follows anchors and merges, and writes what was changed in their place', () => {
    const text = 'version: 1\nbase: &base { epochs: 5, dropout: 0.1 }\ncards:\n  model:\n    type: model_define_gpu\n    config: { <<: *base, activation: relu }\n';
    const { tree } = readText(text);
    expect((tree.cards as never)['model']['config']).toEqual({ epochs: 5, dropout: 0.1, activation: 'relu' });
    const edited = setSetting(tree, 'model', ['epochs'], 6);
    expect(sameValue(readText(writeText(edited, text)).tree, edited)).toBe(true);
  });

  it('upgrades the form of earlier canvases with all of its nodes and edges', () => {
    const { tree, isUpgraded } = readText(content('seed_pipeline.json'));
    expect(isUpgraded).toBe(true);
    expect(tree.name).toBe('seed-pipeline');
    expect((tree.cards as never)['evaluate']['inputs']).toEqual({ trained_model: 'train.trained_model', test_dataset: 'split.test_dataset' });
    expect((tree.layout as never)['model']).toEqual([260, 160]);
  });

  it('says what is wrong with what is none', () => {
    expect(() => readText('a: [1')).toThrow(/This is not a document/);
    expect(() => readText('- 1')).toThrow(/must be a map/);
  });
});

describe('a file of cuvis.ai', () => {
  it('is known by its graph or its pipeline', () => {
    expect(isOfCuvis('nodes:\n- { name: a, class_name: b.RXGlobal }\n')).toBe(true);
    expect(isOfCuvis('nodes: [{ name: a, type: b }]\nconnections: []\n')).toBe(true);
    expect(isOfCuvis('pipeline: { nodes: [] }\ntraining: {}\n')).toBe(true);
  });
  it('is no document of today or of an earlier canvas, nor what is none', () => {
    for (const name of files) expect(isOfCuvis(content(name))).toBe(false);
    for (const text of ['', 'a: [1', '[1, 2]', 'nodes: []\n']) expect(isOfCuvis(text)).toBe(false);
  });
});
