import {
  applyNodeChanges, Background, BackgroundVariant, MiniMap, Panel, ReactFlow, useReactFlow, type Connection as Wire, type Edge, type Node, type NodeChange, type XYPosition,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent } from 'react';
import { addCard, cardIds, connect, connectionsOf, moveCards, typeOf, type Connection, type Point, type Tree } from '../core/document';
import { arranged, cardWidth, placesOf } from '../core/layout';
import { inputOf, outputOf, whyNotConnect, type CardTypes } from '../core/ports';
import { text } from '../text';
import { Button } from '../ui/Button';
import { edit, goInside, redoEdit, say, select, shown, shownCardTypes, undoEdit, useCanvas } from './canvas_store';
import { CardNode, heightOf } from './CardNode';
import { colourOfGroup, colourOfPort, groupOf } from './groups';
import { leaveGraph } from './keys';
import { insideOf, isGraph, shownTree, shownTypes } from './level';
import { cardTransfer } from './Palette';
import { useRun } from './run_store';
import { Welcome } from './Welcome';

const nodeTypes = { card: CardNode };
const mapKey = 'stoker-map';

// All of it; a graph, which fills the canvas, begins below the tools.
const whole = (isInside: boolean) => ({ padding: isInside ? ({ top: '52px', bottom: '40px', x: '24px' } as const) : 0.08, maxZoom: 1 });

const wireId = (each: Connection) => `${each.from}.${each.output}>${each.to}.${each.input}`;
const connectionOf = (wire: Wire | Edge): Connection => ({ from: wire.source, output: wire.sourceHandle ?? '', to: wire.target, input: wire.targetHandle ?? '' });

// What is drawn follows the document; while a card is dragged it is ahead of it.
function nodesOf(document: Tree, selected: ReadonlySet<string>, before: ReadonlyMap<string, Node>, types: CardTypes): Node[] {
  const places = placesOf(document);
  return cardIds(document).map((id) => {
    const [x, y] = places[id]!;
    const old = before.get(id);
    const isSelected = selected.has(id);
    if (old && old.position.x === x && old.position.y === y && old.selected === isSelected) return old;
    const type = types.get(typeOf(document, id));
    const ports = Math.max(type?.inputs.length ?? 0, type?.outputs.length ?? 0);
    return { ...(old ?? { id, type: 'card', data: {}, width: cardWidth, initialHeight: heightOf(ports) }), position: { x, y }, selected: isSelected };
  });
}

function useNodes() {
  const document = useCanvas(shownTree);
  const selected = useCanvas((state) => state.selected);
  const types = useCanvas(shownTypes);
  const [nodes, setNodes] = useState<Node[]>([]);
  useEffect(() => {
    setNodes((before) => nodesOf(document, new Set(selected), new Map(before.map((node) => [node.id, node])), types));
  }, [document, selected, types]);
  const onNodesChange = useCallback((changes: NodeChange[]) => {
    setNodes((before) => applyNodeChanges(changes.filter((each) => each.type !== 'select' && each.type !== 'remove'), before));
    const picks = changes.filter((each) => each.type === 'select');
    if (picks.length === 0) return;
    const now = new Set(useCanvas.getState().selected);
    for (const pick of picks) if (pick.selected) now.add(pick.id);
      else now.delete(pick.id);
    select([...now]);
  }, []);
  return { nodes, onNodesChange };
}

function useEdges(): Edge[] {
  const document = useCanvas(shownTree);
  const types = useCanvas(shownTypes);
  const picked = useCanvas((state) => state.selectedWire);
  const isInside = useCanvas((state) => insideOf(state) !== null);
  const cards = useRun((state) => state.cards);
  const waits = useMemo(() => (isInside ? [] : cardIds(document)).filter((id) => cards[id]?.state === 'waiting' || cards[id]?.state === 'running').join('\n'), [isInside, document, cards]);
  return useMemo(() => {
    const waiting = new Set(waits.split('\n'));
    return connectionsOf(document).map((each) => {
      const output = outputOf(types, document, each.from, each.output);
      const isPicked = picked !== null && wireId(picked) === wireId(each);
      return {
        id: wireId(each), source: each.from, sourceHandle: each.output, target: each.to, targetHandle: each.input, selected: isPicked, focusable: false,
        className: `wire ${waiting.has(each.from) ? 'waits' : ''}`,
        style: { stroke: `var(--${isPicked ? 'ember' : output ? colourOfPort(output) : 'muted'})` },
      };
    });
  }, [document, types, picked, waits]);
}

interface ToolsProps {
  hasMap: boolean | null; // null: there is no need for one
  onMap: () => void;
}

function Tools({ hasMap, onMap }: ToolsProps) {
  const { fitView } = useReactFlow();
  const inside = useCanvas(insideOf);
  const canUndo = useCanvas((state) => state.history.past.length > 0);
  const canRedo = useCanvas((state) => state.history.future.length > 0);
  const arrange = () => {
    edit((now) => moveCards(now, arranged(now)));
    setTimeout(() => void fitView({ ...whole(inside !== null), duration: 150 }), 50);
  };
  return (
    <Panel position="top-left" className="tools" aria-label={text.canvas.tools}>
      {inside !== null && <Button kind="quiet" className="back" onClick={leaveGraph}>{text.graph.back}</Button>}
      <Button kind="quiet" disabled={!canUndo} onClick={undoEdit}>{text.canvas.undo}</Button>
      <Button kind="quiet" disabled={!canRedo} onClick={redoEdit}>{text.canvas.redo}</Button>
      {inside === null && <Button kind="quiet" onClick={arrange}>{text.canvas.arrange}</Button>}
      <Button kind="quiet" onClick={() => void fitView({ ...whole(inside !== null), duration: 150 })}>{text.canvas.fit}</Button>
      {hasMap !== null && <Button kind="quiet" aria-pressed={hasMap} onClick={onMap}>{text.canvas.map}</Button>}
    </Panel>
  );
}

const colourOfNode = (node: Node): string => {
  const type = shownCardTypes().get(typeOf(shown(), node.id));
  return type ? `var(--${colourOfGroup[groupOf(type)]})` : 'var(--muted)';
};

export function Flow() {
  const { nodes, onNodesChange } = useNodes();
  const edges = useEdges();
  const types = useCanvas(shownTypes);
  const origin = useCanvas((state) => state.origin);
  const inside = useCanvas(insideOf);
  const isEmpty = useCanvas((state) => cardIds(shownTree(state)).length === 0);
  const isLoaded = useCanvas((state) => state.isLoaded);
  const { screenToFlowPosition, fitView } = useReactFlow();
  const reason = useRef('');
  const isLarge = nodes.length > 3 && inside === null; // a graph is always shown whole
  const [hasMap, setMap] = useState(() => localStorage.getItem(mapKey) !== 'off');
  const toggleMap = () => {
    localStorage.setItem(mapKey, hasMap ? 'off' : 'on');
    setMap(!hasMap);
  };

  // The whole of a document when it is opened, and when its first cards come.
  useEffect(() => {
    const timer = setTimeout(() => void fitView(whole(inside !== null)), 30);
    return () => clearTimeout(timer);
  }, [origin === '', isEmpty, useCanvas((state) => state.id), types.size === 0]);

  // Nodes of a graph are arranged anew with every change, and stay in sight.
  const arrangement = useCanvas((state) => (insideOf(state) === null ? '' : JSON.stringify(shownTree(state).layout)));
  useEffect(() => {
    const timer = setTimeout(() => arrangement && void fitView({ ...whole(inside !== null), duration: 150 }), 30);
    return () => clearTimeout(timer);
  }, [arrangement]);

  const fits = useCallback((wire: Wire | Edge) => {
    const why = whyNotConnect(shownCardTypes(), shown(), connectionOf(wire));
    reason.current = why ?? '';
    return why === null;
  }, []);
  const onConnect = useCallback((wire: Wire) => {
    const made = connectionOf(wire);
    edit((now) => connect(now, made, inputOf(shownCardTypes(), now, made.to, made.input)?.several ?? false));
  }, []);
  const onConnectEnd = useCallback((_: unknown, state: { isValid: boolean | null; toHandle: unknown }) => {
    if (state.isValid === false && state.toHandle && reason.current) say(reason.current, true);
    reason.current = '';
  }, []);
  const onDragStop = useCallback((_: unknown, __: Node, moved: Node[]) => {
    edit((now) => moveCards(now, Object.fromEntries(moved.map((node): [string, Point] => [node.id, [node.position.x, node.position.y]]))));
  }, []);
  const onDrop = (event: DragEvent) => {
    const type = event.dataTransfer.getData(cardTransfer);
    if (!type) return;
    event.preventDefault();
    const at: XYPosition = screenToFlowPosition({ x: event.clientX, y: event.clientY });
    let id = '';
    edit((now) => {
      const added = addCard(now, type, [at.x - cardWidth / 2, at.y - 30]);
      id = added.id;
      return added.document;
    });
    select([id]);
  };

  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      onNodesChange={onNodesChange}
      onConnect={onConnect}
      onConnectEnd={onConnectEnd}
      isValidConnection={fits}
      onNodeDragStop={onDragStop}
      onNodeClick={(event, node) => !event.shiftKey && !event.ctrlKey && !event.metaKey && select([node.id])}
      onNodeDoubleClick={(_, node) => isGraph(useCanvas.getState(), shown(), node.id) && inside === null && goInside(node.id)}
      nodesDraggable={inside === null}
      zoomOnDoubleClick={false}
      onEdgeClick={(_, edge) => useCanvas.setState({ selectedWire: connectionOf(edge), selected: [] })}
      onPaneClick={() => select([])}
      onDragOver={(event) => {
        event.preventDefault();
        event.dataTransfer.dropEffect = 'copy';
      }}
      onDrop={onDrop}
      disableKeyboardA11y
      deleteKeyCode={null}
      minZoom={0.1}
      maxZoom={2}
      snapToGrid={false}
      selectNodesOnDrag
      nodesFocusable
      edgesFocusable={false}
      attributionPosition="bottom-left"
      aria-label={inside === null ? text.canvas.area : text.graph.area(inside)}
    >
      <Background variant={BackgroundVariant.Dots} gap={20} size={1.5} color="var(--line)" />
      <Tools hasMap={isLarge ? hasMap : null} onMap={toggleMap} />
      {isEmpty && isLoaded && inside === null && <Welcome />}
      {isEmpty && inside !== null && <Panel position="top-center" className="empty-graph secondary">{text.graph.empty}</Panel>}
      {inside !== null && <Panel position="bottom-center" className="graph-name secondary">{text.graph.area(inside)}</Panel>}
      {isLarge && hasMap && <MiniMap pannable zoomable ariaLabel={text.canvas.minimap} nodeColor={colourOfNode} nodeBorderRadius={8} bgColor="var(--surface)" maskColor="color-mix(in srgb, var(--bg) 70%, transparent)" />}
    </ReactFlow>
  );
}
