const data = JSON.parse(document.getElementById('data').textContent), box = document.getElementById('find'),
  list = document.getElementById('found'), mode = document.getElementById('mode');
const esc = s => s.replace(/[&<>"]/g, c => ({'&':'&amp;','<':'&lt;','>':'&gt;','"':'&quot;'}[c]));
function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean), all = data[mode.value] || [];
  const hits = all.filter(f => words.every(w => (f.test + ' ' + f.text + ' ' + f.cause).toLowerCase().includes(w)));
  list.innerHTML = hits.slice(0, 400).map(f => `<li>${esc(f.test)}<br><span>${esc(f.outcome)}: ${esc(f.text || '')}` +
    ` · ${esc(f.cause || 'no cause yet')}</span></li>`).join('');
  document.getElementById('hits').textContent = hits.length + ' of ' + all.length +
    (hits.length > 400 ? ', the first 400 shown' : '');
}
box.oninput = mode.onchange = show; show();
