"""Expressions about several devices, evaluated under JAX and under lazynp with eight of them: `test_many_devices.py`.

Names: `jax`, `jnp`, `np`, `P` and the classes of `jax.sharding`; `m` and `ma`, meshes of 4 by 2 devices with explicit
axes and with Auto ones; `groups`, of
devices; `x`, split by `P("x")` over `m`, and `a`, by `P("x", "y")` over `ma`, both of shape (8, 2).
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import pickle
import re
import sys
from typing import Any

import numpy as np

CASES = """
ns.devices_indices_map((8,2))
ns.addressable_devices_indices_map((8,2))
ns.shard_shape((7,2))
NamedSharding(m,P(('x','y'))).shard_shape((8,))
NamedSharding(m,P('x','x'))
NamedSharding(m,P('z'))
NamedSharding(m,P('x')) == NamedSharding(m,P('x',None))
NamedSharding(m,P('x')).is_equivalent_to(NamedSharding(m,P('x',None)),2)
hash(P('x')) == hash(P('x', None))
P('x') == P('x', None)
P('x') == ('x',)
P(('x',)) == P('x')
P(['x', 'y'])
P('x', unreduced={'y'})
P(None, 'x', 'y')[1]
list(P('x'))
P() + P('x')
len(P('x', None))
str(ns)
repr(sd)
str(m)
str(m.abstract_mesh)
repr(m.abstract_mesh)
AbstractMesh((2,),('x',))
Mesh(jax.devices(),('x',))
Mesh(np.array(jax.devices()).reshape(4,2),('x',))
Mesh(np.array(jax.devices()).reshape(4,2),('x','x'))
jax.make_mesh((16,),('x',))
jax.make_mesh((2,),('x',)).devices
jax.make_mesh((8,),('x','y'))
x.addressable_shards[0]
x.global_shards[3].index
[s.replica_id for s in x.addressable_shards]
x.addressable_data(1).shape
x.addressable_shards[1].data.sharding
x.is_fully_replicated
x.is_fully_addressable
x.committed
x.device
x.devices()
jnp.ones(3).committed
jnp.ones(3).device
jax.device_put(np.ones(3), jax.devices()[2]).device
jax.device_put(np.ones(3), jax.devices()[2]) + jax.device_put(np.ones(3), jax.devices()[3])
(jax.device_put(np.ones(3), jax.devices()[2]) + 1).device
x + jax.device_put(np.ones((8,2)), jax.devices()[3])
jax.jit(lambda a,b:a+b)(x , jax.device_put(np.ones((8,2)), jax.devices()[3]))
a.sum()
jnp.sum(a, 0).sharding
a.sum().sharding
jax.jit(lambda x:x*2, out_shardings=NamedSharding(ma,P()))(a).sharding
jax.jit(lambda x:x*2, in_shardings=NamedSharding(ma,P()))(a).sharding
jax.jit(lambda x:x*2, in_shardings=NamedSharding(ma,P('x')))(np.ones((8,2))).sharding
jax.jit(lambda x:x*2, in_shardings=NamedSharding(ma,P('x')))(np.ones((6,2))).sharding
jax.jit(lambda x:x*2, out_shardings=NamedSharding(ma,P('x')))(np.ones((6,2))).sharding
jax.jit(lambda x:x*2, in_shardings=P('x'))(np.ones((8,2))).sharding
jax.jit(lambda x:jax.lax.with_sharding_constraint(x*2,NamedSharding(ma,P('y'))))(a).sharding
jax.lax.with_sharding_constraint(a,NamedSharding(ma,P('y'))).sharding
jax.lax.with_sharding_constraint(a,P('y')).sharding
jax.lax.with_sharding_constraint(x,NamedSharding(m,P('y'))).sharding
jax.lax.with_sharding_constraint(np.ones(3),NamedSharding(ma,P('y'))).sharding
jax.lax.with_sharding_constraint(np.ones((4,4)),NamedSharding(ma,P('y'))).sharding
jax.device_put(np.ones((6,2)),NamedSharding(ma,P('x')))
jax.device_put(np.ones(8),NamedSharding(ma,P('x','y')))
jax.device_put(np.ones(8),P('x'))
jax.typeof(x)
jax.typeof(a)
jax.typeof(x * 2)
x.aval
jax.reshard(x,NamedSharding(m,P('y'))).sharding
jax.reshard(x,P('y')).sharding
x[0].sharding
x[:2].sharding
x.T.sharding
x.reshape(4, 4).sharding
x.reshape(16)
x @ x.T
jnp.dot(x, x.T, out_sharding=P('x'))
x + jax.device_put(np.ones((8,2)),NamedSharding(m,P(None,'y')))
x + jax.device_put(np.ones((8,2)),NamedSharding(m,P('y')))
jnp.concatenate([x, x]).sharding
jnp.sort(x, 0).sharding
jnp.sort(x, 1).sharding
jnp.zeros((8,2),device=ns).sharding
jnp.arange(8,device=NamedSharding(m,P('x'))).sharding
jnp.zeros(3,device=jax.devices()[4]).devices()
jnp.zeros_like(x).sharding
jnp.ones_like(a).sharding
jax.make_array_from_callback((8,2),ns,lambda i:np.arange(16.).reshape(8,2)[i]).sharding
jax.make_array_from_single_device_arrays((8,2),ns,[s.data for s in x.addressable_shards]).sharding
jax.make_array_from_process_local_data(ns,np.ones((8,2))).sharding
jax.pmap(lambda x:x+1)(np.arange(8.)).sharding
jax.pmap(lambda x:jax.lax.psum(x,'i'),'i')(np.arange(8.))
jax.device_put_replicated(1., jax.devices())
jax.device_put_sharded([1.,2.], jax.devices()[:2])
jax.local_devices()
jax.device_count()
jax.default_backend()
jax.config.jax_num_cpu_devices
jax.grad(lambda x:(x**2).sum())(a).sharding
jax.vmap(lambda r:r*2)(a).sharding
jax.eval_shape(lambda x:x, a).sharding
jax.ShapeDtypeStruct((8,2),np.float32,sharding=ns)
jax.jit(lambda x:x).lower(a).compile().input_shardings
jax.jit(lambda x:x).lower(a).compile().output_shardings
S.get_mesh()
S.get_abstract_mesh()
jax.shard_map(lambda x:x, mesh=m, in_specs=P('x'), out_specs=P('x'))(x).sharding
jax.shard_map(lambda x:x.sum(), mesh=m, in_specs=P('x'), out_specs=P('x'))(x)
jax.shard_map(lambda x:x, mesh=m, in_specs=P('x'), out_specs=P())(x)
jax.shard_map(lambda x:jax.lax.psum(x,'x'), mesh=m, in_specs=P('x'), out_specs=P())(x).sharding
jax.shard_map(lambda x:x, mesh=m, in_specs=P('x'), out_specs=P('x','y'))(x)
jax.shard_map(lambda x:x, mesh=m, in_specs=(P('x'),P()), out_specs=P('x'))(x)
jax.shard_map(lambda x:x, mesh=m, in_specs=P('z'), out_specs=P('x'))(x)
jax.shard_map(lambda x:jax.lax.axis_index('y'), mesh=m, in_specs=P('x'), out_specs=P('y'))(x)
S.auto_axes
S.explicit_axes
jax.pmap(lambda x:x+1,'i')(np.arange(8.)).sharding
jax.pmap(lambda x:x+1,'i')(np.arange(4.)).sharding
jax.pmap(lambda x:x+1,'i')(np.arange(16.)).sharding
jax.pmap(lambda x:x+1,'i',devices=jax.devices()[2:4])(np.arange(2.)).sharding
jax.pmap(lambda x:x+1,'i',out_axes=1)(np.ones((8,2))).sharding
jax.pmap(lambda x:x+1,'i',out_axes=None)(np.ones((8,2)))
jax.pmap(lambda x:jax.lax.psum(x,'i'),'i',out_axes=None)(np.ones((8,2)))
jax.pmap(lambda x,y:x+y,'i',in_axes=(0,None))(np.ones((8,2)),1.).sharding
jax.pmap(lambda x,y:x+y,'i',in_axes=(0,0))(np.ones((8,2)),np.ones(4))
jax.pmap(lambda x:x,'i')(3.)
jax.pmap(lambda x:x)()
jax.pmap(lambda x:jax.lax.psum(x,'i',axis_index_groups=[[0,1],[2,3],[4,5],[6,7]]),'i')(np.arange(8.))
jax.pmap(lambda x:jax.lax.psum(x,'i',axis_index_groups=[[0,1,2,3],[4,5,6,7]]),'i')(np.arange(8.))
jax.pmap(lambda x:jax.lax.psum(x,'i',axis_index_groups=[[0,1,2],[4,5,6,7]]),'i')(np.arange(8.))
jax.pmap(lambda x:jax.lax.all_gather(x,'i',axis_index_groups=groups),'i')(np.arange(8.))
jax.pmap(lambda x:jax.lax.psum_scatter(x,'i',axis_index_groups=groups),'i')(np.arange(16.).reshape(8,2))
jax.pmap(lambda x:jax.lax.all_to_all(x,'i',0,0,axis_index_groups=groups),'i')(np.arange(16.).reshape(8,2))
jax.pmap(lambda x:jax.lax.pmean(x,'i',axis_index_groups=groups),'i')(np.arange(8.))
(x * 2).sharding
jnp.sin(x).sharding
x.sum(0).sharding
x.sum(1).sharding
x[:, None].sharding
x[:,0].sharding
x.reshape(4,2,2).sharding
x.reshape(16).sharding
(x + 1).sharding
(x + np.ones(2)).sharding
jnp.exp(x).mean().sharding
jnp.broadcast_to(x,(3,8,2)).sharding
jnp.where(x>0,x,0.).sharding
x.astype(int).sharding
jax.nn.softmax(x).sharding
jax.jit(lambda x:x*2)(x).sharding
jax.shard_map(lambda v:v*2, mesh=m, in_specs=P('x'), out_specs=P('x'))(np.ones((8,2))).sharding
jax.shard_map(lambda v:v*2, mesh=m, in_specs=P('x'), out_specs=P('x'))(np.ones((6,2))).sharding
jax.shard_map(lambda v:v*2, in_specs=P('x'), out_specs=P('x'))(x)
jax.shard_map(lambda v:v*2, mesh=m, in_specs=P('x'), out_specs=P('w'))(x)
jax.shard_map(lambda v:jax.lax.all_gather(v,'x'), mesh=m, in_specs=P('x'), out_specs=P())(x).shape
jax.shard_map(lambda v:jax.lax.all_gather(v,'x'), mesh=m, in_specs=P('x'), out_specs=P(),check_vma=False)(x).shape
jax.shard_map(lambda v:jax.lax.psum(v,('x','y')), mesh=m, in_specs=P('x','y'), out_specs=P())(x)
jax.vmap(jax.shard_map(lambda v:v*2, mesh=m, in_specs=P('x'), out_specs=P('x')))(np.ones((3,8)))
jax.device_put({'a':np.ones(8),'b':np.ones((8,2))},{'a':NamedSharding(m,P('x')),'b':jax.devices()[3]})
jax.device_put([np.ones(8),np.ones(4)],NamedSharding(m,P('x')))[1].sharding
jax.jit(lambda x,y:(x,y), out_shardings=(NamedSharding(ma,P()),None))(a,a)[0].sharding
jax.jit(lambda x,y:(x,y), out_shardings=(NamedSharding(ma,P()),))(a,a)
jax.jit(lambda x,y:(x,y), in_shardings=(NamedSharding(ma,P()),))(a,a)
jax.jit(lambda x,y=1:(x,y), in_shardings=NamedSharding(ma,P()))(a,y=a)
jax.jit(lambda x:x, in_shardings='x')
jax.make_array_from_callback((6,2),NamedSharding(m,P('x')),lambda i:np.ones((6,2))[i])
jax.make_array_from_single_device_arrays((8,2),NamedSharding(m,P('x')),[s.data for s in x.addressable_shards][:4])
jax.make_array_from_single_device_arrays((8,3),NamedSharding(m,P('x')),[s.data for s in x.addressable_shards])
np.asarray(jax.make_array_from_single_device_arrays((8,2),ns,[s.data*2 for s in x.addressable_shards]))
jnp.stack([a, a]).sharding.spec
jnp.einsum('ij,kj->ik', a, a).sharding.spec
a.at[0].set(1.0).sharding.spec
a.argmax(0).sharding.spec
jnp.cumsum(a, 1).sharding.spec
jnp.linalg.norm(a).sharding.spec
jnp.take(a, jnp.array([1, 2]), 0).sharding.spec
a.ravel().sharding.spec
jnp.tile(a, (2, 1)).sharding.spec
jnp.flip(a, 0).sharding.spec
jnp.fft.fft(a).sharding.spec
jax.random.normal(jax.random.key(0), (8, 2)).sharding
jax.lax.scan(lambda c, v: (c + v.sum(), v * 2), 0.0, a)[1].sharding.spec
jax.lax.fori_loop(0, 3, lambda i, v: v * 2, a).sharding.spec
jax.lax.cond(True, lambda v: v * 2, lambda v: v, a).sharding.spec
a.sharding == a.copy().sharding
np.asarray(a).sum()
float(a.sum())
repr(a)
a.nbytes
len(a.addressable_shards)
a.global_shards[1].data
jax.sharding.reshard
jax.reshard(a, NamedSharding(ma, P('y')))
copy.deepcopy(a).sharding.spec
pickle.loads(pickle.dumps(a)).sharding
jax.grad(lambda v: (jax.lax.with_sharding_constraint(v * 2, NamedSharding(ma, P("y"))) ** 2).sum())(a)
jax.jit(jax.grad(lambda v: (jax.lax.with_sharding_constraint(v * 2, NamedSharding(ma, P("y"))) ** 3).sum()))(a)
jax.hessian(lambda v: (jax.lax.with_sharding_constraint(v * 2, NamedSharding(ma, P())) ** 3).sum())(np.ones(3))
jax.jvp(lambda v: jax.lax.with_sharding_constraint(v * v, NamedSharding(ma, P("y"))), (a,), (a,))[1]
jax.vmap(lambda v: jax.lax.with_sharding_constraint(v * 2, NamedSharding(ma, P("y"))))(np.ones((3, 4)))
jax.jit(jax.vmap(lambda v: jax.lax.with_sharding_constraint(v * 2, NamedSharding(ma, P("y")))))(a).sharding
[jax.jit(lambda v, n=n: hasattr(v, n) + v)(1) for n in ("sharding", "device")]
jax.jit(lambda v: v.devices())(a)
jax.jit(lambda v: v.committed)(a)
jax.jit(lambda v: v.is_fully_replicated)(a)
jax.jit(lambda v: v.addressable_shards)(a)
sm(lambda v: jax.grad(lambda q: lax.psum((q**2).sum(),'x'))(v), P('x'), P('x'), arange(8.0))
sm(lambda v: jax.grad(lambda q: lax.psum((q**2).sum(),'x'))(v), P('x'), P('x'), arange(8.0), check_vma=False)
sm(lambda w, v: jax.grad(lambda q: lax.psum((q*v).sum(),'x'))(w), (P(), P('x')), P(), 3.0, arange(8.0))
sm(lambda w, v: jax.grad(lambda q: (q*v).sum())(w), (P(), P('x')), P(), 3.0, arange(8.0))
sm(lambda w, v: jax.grad(lambda q: lax.pmean((q*v).sum(),'x'))(w), (P(), P('x')), P(), 3.0, arange(8.0))
sm(lambda w, v: jax.grad(lambda q: (lax.pcast(q,'x',to='varying')*v).sum())(w), (P(), P('x')), P(), 3.0, arange(8.0))
sm(lambda w, v: jax.grad(lambda q: (q*v).sum())(lax.pcast(w,'x',to='varying'))[None], wv, P('x'), 3.0, arange(8.0))
sm(jax.grad(lambda v: lax.psum((lax.ppermute(v,'x',ring)**3).sum(),'x')), P('x'), P('x'), arange(8.0))
sm(jax.grad(lambda v: (lax.all_gather(v,'x')**3).sum()), P('x'), P('x'), arange(8.0))
sm(jax.grad(lambda v: (lax.psum(v,'x')**2*v).sum()), P('x'), P('x'), arange(8.0))
sm(jax.grad(lambda v: (lax.axis_index('x')*v).sum()), P(), P(), 3.0)
sm(jax.grad(lambda v: lax.cond(v.sum()>3,lambda q:(q**2).sum(),lambda q:q.sum(),v)), P('x'), P('x'), arange(8.0))
sm(jax.hessian(lambda v: lax.psum((v**3).sum(),'x')), P(), P(), arange(2.0))
sm(lambda w, v: jax.grad(lambda q: lax.psum(lax.scan(lambda c, r: (c+r*q,0), v[0], v)[0],'x'))(w), wv, P(), 3.0, v16)
sm(lambda w, v: jax.grad(lambda q: lax.scan(lambda c, r: (c+lax.psum(r*q,'x'), None), 0.0, v)[0])(w), wv, P(), 3.0, v16)
sm(lambda w, v: jax.jvp(lambda q: lax.psum((q*v).sum(),'x'), (w,), (w,)), (P(), P('x')), P(), 3.0, arange(8.0))
float(jax.grad(jax.shard_map(lambda q: lax.psum((q*row**2).sum(),'x'), mesh=ma, in_specs=P(), out_specs=P()))(2.0))
seen(lambda v: [jax.typeof(t) for t in (v, lax.psum(v,'x'), lax.pmax(v,'x'), lax.axis_index('x'), v*2, jnp.zeros(3))])
seen(lambda v: [jax.typeof(t) for t in (lax.pcast(jnp.zeros(3),'x',to='varying'), lax.all_gather(v,'x'), v[0])])
seen(lambda v: [jax.typeof(jax.jit(jnp.sin)(v)), jax.typeof(jax.vmap(jnp.sin)(v)), jax.typeof(v).manual_axis_type])
seen(lambda v: [jax.sharding.get_abstract_mesh(), jax.typeof(v).sharding])
sm(lambda v: lax.pcast(v,'x',to='varying'), P('x'), P('x'), arange(8.0))
sm(lambda v: lax.pcast(v,'x',to='elsewhere'), P('x'), P('x'), arange(8.0))
sm(lambda v: lax.pcast(v,'x'), P('x'), P('x'), arange(8.0))
lax.pcast(jnp.ones(2),'x',to='varying')
sm(lambda v: lax.scan(lambda c, r: (c+r, None), jnp.zeros(()), v)[0][None], P('x'), P('x'), arange(16.0))
sm(lambda v: lax.fori_loop(0,2,lambda i, c: c+v.sum(),0.0)[None], P('x'), P('x'), arange(16.0))
sm(lambda v: lax.while_loop(lambda c: c.sum()<3, lambda c: c+v, jnp.zeros(2)), P('x'), P('x'), arange(16.0))
sm(lambda v: lax.cond(True,lambda: v,lambda: jnp.zeros(2)), P('x'), P('x'), arange(16.0))
sm(lambda v: lax.map(lambda r: r*2, v), P('x'), P('x'), arange(16.0))
sm(lambda v: jax.lax.switch(lax.axis_index('x')%2,[lambda q: q,lambda q: -q],v), P('x'), P('x'), arange(16.0))
sm(lambda v: lax.while_loop(lambda c: (c<100).all(), lambda c: c*2, v+1), P('x'), P('x'), arange(16.0))
jax.shard_map(lambda v: v[:1]*x, mesh=m, in_specs=P('x'), out_specs=P())(x)
jnp.pad(x,((4,4),(0,0))).sharding
jnp.pad(x,1)
lax.pad(x,0.0,((0,0,0),(2,0,0))).sharding
jax.sharding.ManualAxisType(varying={'x'})
jax.sharding.ManualAxisType(varying={'x'}, reduced={'x'})
jax.sharding.ManualAxisType(reduced={'x'}).to_ct_mat()
jax.ShapeDtypeStruct((2,), jnp.float32, manual_axis_type=jax.sharding.ManualAxisType(varying={'x'}))
[(jax.device_put(v, jax.NamedSharding(ma,P('x'))), v.sharding)[1] for v in [jnp.arange(8.0)]]
[(lax.with_sharding_constraint(v, jax.NamedSharding(ma,P('x'))), v.sharding)[1] for v in [jnp.arange(8.0)]]
[(jax.jit(lambda q: q, out_shardings=jax.NamedSharding(ma,P('x')))(v), v.sharding)[1] for v in [jnp.arange(8.0)]]
jax.jit(lambda q: q*2, out_shardings=ns).lower(np.ones((8,2))).compile().output_shardings
jax.jit(lambda q: q*2, out_shardings=ns).lower(np.ones((8,2))).compile()(np.ones((8,2))).sharding
entered(lambda: lax.with_sharding_constraint(arange(8.0), P('x')).sharding)
entered(lambda: jax.jit(lambda v: v, out_shardings=P('x'))(arange(8.0)))
entered(lambda: jax.device_put(arange(8.0), P('x')))
entered(lambda: jnp.ones(2).sharding)
entered(jax.sharding.get_abstract_mesh)
x @ x.T.reshape(2,8)
x.T @ x
x @ np.ones((2,2))
x.T.reshape(16)
jnp.cumsum(x, 0)
jnp.cumsum(x, 1).sharding
jax.make_array_from_callback((8,), ns, lambda i: np.arange(8)[i], dtype=np.float32)
jax.pmap(lambda v: v)(np.ones(9))
Mesh(np.array(jax.devices()).reshape(4,2),('x','y')) is Mesh(np.array(jax.devices()).reshape(4,2),('x','y'))
Mesh(jax.devices(),('x',),axis_types=(ma.axis_types[0],)*2)
P('x', unreduced={'x'})
P('x', unreduced='y')
P('x', unreduced={'y'}, reduced={'y'})
P(unreduced={None})
P('x') + P('y', unreduced={'z'})
P('x', unreduced={'y'}) + ('z',)
P('x') + 'y'
NamedSharding(m, P('x', unreduced={'q'}))
NamedSharding(m, P(P.UNCONSTRAINED))
NamedSharding(ma, P('x'), memory_kind='weird')
NamedSharding(ma, P('x')).with_memory_kind('pinned_host')
NamedSharding(ma, P('x'), memory_kind='device') == NamedSharding(ma, P('x'))
NamedSharding(ma, P('x')).update(spec=P('y'), memory_kind='pinned_host')
NamedSharding(ma, P('x')).is_equivalent_to(NamedSharding(ma, P('x'), memory_kind='pinned_host'), 1)
SingleDeviceSharding(jax.devices()[0], memory_kind='pinned_host')
jax.device_put(np.ones(8), NamedSharding(ma, P('x'), memory_kind='pinned_host')).sharding
jax.jit(lambda v: v, out_shardings=NamedSharding(ma, P('x'), memory_kind='pinned_host'))(np.ones(8)).sharding
[v.kind for v in jax.devices()[0].addressable_memories()]
jax.devices()[0].memory('weird')
NamedSharding(ma.abstract_mesh, P('x')).device_set
NamedSharding(ma.abstract_mesh, P('x')).memory_kind
NamedSharding(ma.abstract_mesh, P('x')).is_fully_addressable
jax.jit(lambda v: (jax.set_mesh(ma), v)[1])(1.0)
jax.jit(lambda v: (S.get_mesh(), v)[1])(1.0)
jax.set_mesh(ma.abstract_mesh)
S.use_abstract_mesh(ma)
S.use_mesh
within(ma, lambda: jax.smap(lambda v: v*2, in_axes=0, out_axes=0, axis_name='x')(arange(8.0)))
within(ma, lambda: jax.smap(lambda v: lax.psum(v,'x'), in_axes=0, out_axes=None, axis_name='x')(arange(8.0)))
within(ma, lambda: jax.smap(lambda v, w: v*w, in_axes=(0,None), out_axes=0, axis_name='y')(arange(8.0), 2.0))
within(ma, lambda: jax.smap(lambda v: v, in_axes=0, out_axes=None, axis_name='x')(arange(8.0)))
within(ma, lambda: jax.smap(lambda v: v, in_axes='a', out_axes=0, axis_name='x')(arange(8.0)))
within(ma, lambda: jax.smap(lambda v: v, out_axes=0, axis_name='x')(arange(8.0)))
within(ma, lambda: jax.smap(lambda v: v, in_axes=0, out_axes=0, axis_name='q')(arange(8.0)))
within(m, lambda: jax.smap(lambda v: v, out_axes=0, axis_name='x')(x[:,0]).sharding)
jax.smap(lambda v: v, in_axes=0, out_axes=0, axis_name='x')(arange(8.0))
sm(lambda v: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((1,), np.float32), v), P('x'), P('x'), arange(8.0))
jax.pmap(lambda v: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), v))(np.arange(8.0))
sm(jax.vmap(lambda v: jax.pure_callback(np.sin, jax.typeof(v), v)), P('x'), P('x'), arange(8.0))
sm(lambda v: lax.all_gather(v, 'x', to='invarying', tiled=True), P('x'), P(), arange(8.0))
sm(lambda v: lax.all_gather(v, 'x', to='elsewhere'), P('x'), P('x'), arange(8.0))
sm(lambda v: lax.psum(v, 'x', axis_index_groups=[[0,1,2,3],[4,5,6,7]]), P('x'), P('x'), arange(8.0))
[t.sharding for t in jax.jvp(jax.shard_map(jnp.sin, mesh=ma, in_specs=P('x'), out_specs=P('x')), *[(np.ones(8),)]*2)]
jax.grad(lambda v: jax.shard_map(jnp.sin, mesh=ma, in_specs=P('x'), out_specs=P('x'))(v).sum())(np.ones(8)).sharding
jax.grad(lambda v: jax.pmap(jnp.sin, 'i')(v).sum())(np.ones(8)).sharding
jax.vmap(jax.pmap(lambda v: lax.psum(v,'i'), 'i'))(np.ones((2,8))).sharding
jax.grad(lambda v: (jax.device_put(v, NamedSharding(ma,P('x')))**2).sum())(np.ones(8)).sharding
jax.jit(jax.shard_map(lambda v: v*2, mesh=ma, in_specs=P('x'), out_specs=P('x'), axis_names={'x'}))(a).sharding
jax.jit(jax.shard_map(lambda v: lax.psum(v,'x'), mesh=ma, in_specs=P('x'), out_specs=P(), axis_names={'x'}))(a).sharding
jax.jit(jax.shard_map(lax_y, mesh=ma, in_specs=P('x'), out_specs=P('x'), axis_names={'x'}))(np.ones((8,2))).sharding
jax.shard_map(lambda v: v*2, mesh=ma.abstract_mesh, in_specs=P('x'), out_specs=P('x'))(a[:,0]).sharding
jax.shard_map(lambda v: v*2, mesh=ma.abstract_mesh, in_specs=P('x'), out_specs=P('x'))(np.ones(8))
jax.shard_map(lambda v: v, mesh=3, in_specs=P('x'), out_specs=P('x'))(arange(8.0))
jax.shard_map(3, mesh=ma, in_specs=P('x'), out_specs=P('x'))
jax.shard_map(lambda v: v, mesh=ma, in_specs=P(P.UNCONSTRAINED), out_specs=P('x'))(arange(8.0))
jax.shard_map(lambda v: v, mesh=ma, in_specs=P('x'), out_specs=P('x'))(jax.device_put(np.ones(8), jax.devices()[5]))
within(m, lambda: lax.with_sharding_constraint(x, P('x', None)).sharding)
within(m, lambda: lax.with_sharding_constraint(x, P('y')))
lax.with_sharding_constraint(np.ones(8), jax.devices()[0])
lax.with_sharding_constraint(np.ones(8), 'x')
jax.jit(lambda v: v, in_shardings=jax.devices()[0])
[jax.jit(lambda q: q*2, donate_argnums=0, in_shardings=v.sharding)(v) is v or v.is_deleted() for v in [a*2]]
[(jax.pmap(lambda q: q*2, donate_argnums=0)(v), v.is_deleted())[1] for v in [jax.pmap(lambda q: q)(np.ones(8))]]
jax.pmap(lambda v: lax.psum(v,'i',axis_index_groups=[[0],[1,2,3]]),'i')(np.arange(4.))
jax.pmap(lambda v: lax.pmin(v,'i',axis_index_groups=[[0,1,2],[3]]),'i')(np.arange(4.))
jax.pmap(lambda v: lax.pmean(v,'i',axis_index_groups=[[0,1,2],[3]]),'i')(np.arange(4.))
jax.pmap(lambda v: v, in_axes=(0,0))(np.ones(8))
jax.pmap(lambda v: v, in_axes=[0])(np.ones(8))
jax.pmap(lambda v: v, in_axes=(1,))(np.ones(8))
jax.pmap(lambda v: v, axis_size=4)(np.ones(8))
jax.pmap(lambda v: v, backend='tpu')(np.ones(2))
jax.pmap(lambda v: v, static_broadcasted_argnums=3)(np.ones(8))
jax.pmap(lambda n, v: v*n, static_broadcasted_argnums=0, donate_argnums=0)
jax.pmap(lambda v: v*2, 'i').__wrapped__(3)
jax.pmap(lambda v: v)(jax.device_put(np.ones(8), NamedSharding(ma, P('y'))))
jax.pmap(3)
lax.psum(arange(4.0), 0)
within(m, lambda: [g.sharding for g in jax.grad(vw, (0,1))(x, jax.reshard(np.ones((2,4)),P(None,'y')))])
within(m, lambda: [g.sharding for g in jax.jit(jax.grad(vw, (0,1)))(x, jax.reshard(np.ones((2,4)),P(None,'y')))])
within(m, lambda: [g.sharding for g in jax.vjp(lambda v: v.reshape(8,2,1), x)[1](x.reshape(8,2,1))])
within(m, lambda: jax.value_and_grad(lambda v: (v[:,0]**2).sum())(x)[1].sharding)
within(m, lambda: jax.grad(lambda d: d['a'].sum() + d['b'].max())({'a': x, 'b': x.T})['b'].sharding)
within(m, lambda: jax.jacrev(lambda v: v*2)(x[:,0]).sharding)
jax.reshard(np.ones((16,4)), NamedSharding(m, P(('x','y')))).reshape(4,4,4)
jax.reshard(np.ones((16,4)), NamedSharding(m, P(('x','y')))).reshape(4,2,2,4).sharding
jax.reshard(np.ones((16,4)), NamedSharding(m, P(('x','y')))).reshape(8,2,4).sharding
x.reshape(2,4,2)
x.reshape(4,2,2).sharding
within(m, lambda: jnp.concatenate([x, jax.reshard(np.ones((8,2)), P(None,'y'))], 1))
within(m, lambda: jnp.where(x>1, x, jax.reshard(x, P('x','y'))))
within(m, lambda: jnp.where(jax.reshard(x, P('x','y'))>1, x, x))
within(m, lambda: jnp.where(x>1, x, 0.0).sharding)
within(m, lambda: jnp.split(x, 2)[0].sharding)
within(m, lambda: jnp.split(x, 4))
within(m, lambda: lax.split(x, (4,4))[1].sharding)
within(m, lambda: lax.dynamic_slice(x, (0,0), (4,2)).sharding)
within(m, lambda: lax.dynamic_slice(x, (0,0), (3,2)))
within(m, lambda: x.at[jnp.array([0,1])].get(out_sharding=P('y')).sharding)
within(m, lambda: x.at[0].get(out_sharding=P()).sharding)
within(m, lambda: x.at[0].set(1.0, out_sharding=P('x')).sharding)
within(m, lambda: jnp.linalg.det(jax.reshard(np.stack([np.eye(2)]*8), P('x'))).sharding)
within(m, lambda: [v.sharding for v in jnp.linalg.eigh(jax.reshard(np.stack([np.eye(2)]*8), P('x')))])
bool(jax.set_mesh(m))
jnp.ones((8,2)).sharding
jnp.arange(8).sharding
(jnp.ones(8)*2).sharding
jax.random.normal(jax.random.key(0),(4,)).sharding
jax.jit(lambda: jnp.ones(8))().sharding
lax.scan(lambda c, r: (c+r,c*2), jnp.zeros(2), x)
jax.reshard(np.ones((8,2)),P('x')).sharding
x @ jnp.ones((2,2))
jnp.dot(x,x.T,out_sharding=P('x','y')).sharding
jnp.einsum('ij,jk->ik',x,x.T,out_sharding=P('x')).sharding
jnp.zeros((8,2),out_sharding=P('x')).sharding
x.reshape(16,out_sharding=P('x')).sharding
""".strip().splitlines()


def results(jax: Any, jnp: Any) -> list[str]:
    """What each expression gives, as text; of an error its class among Python's."""
    sharding = jax.sharding
    names = {"jax": jax, "jnp": jnp, "np": np, "S": sharding, "copy": copy, "pickle": pickle, "P": jax.P}
    for name in ("AbstractMesh", "AxisType", "Mesh", "NamedSharding", "PartitionSpec", "SingleDeviceSharding"):
        names[name] = getattr(sharding, name)
    m = names["m"] = jax.make_mesh((4, 2), ("x", "y"))
    ma = names["ma"] = jax.make_mesh((4, 2), ("x", "y"), axis_types=(sharding.AxisType.Auto,) * 2)
    names["ns"], names["sd"] = jax.NamedSharding(m, jax.P("x")), sharding.SingleDeviceSharding(jax.devices()[1])
    line = jax.make_mesh((8,), ("x",), axis_types=(sharding.AxisType.Auto,))

    def sm(f: Any, specs: Any, out: Any, *args: Any, **options: Any) -> Any:
        """The result as numbers: how that of a gradient lies is a choice."""
        found = jax.shard_map(f, mesh=line, in_specs=specs, out_specs=out, **options)(*args)
        return jax.tree.map(lambda x: x.tolist(), found)

    def seen(f: Any) -> list[Any]:
        out = []
        sm(lambda v: (out.extend(f(v)), v)[1], jax.P("x"), jax.P("x"), jnp.arange(8.0))
        return out

    def within(mesh: Any, f: Any) -> Any:
        with jax.set_mesh(mesh):
            return f()

    def within_entered(mesh: Any, f: Any) -> Any:
        with mesh:
            return f()

    names |= {
        "sm": sm,
        "entered": lambda f: within_entered(ma, f),
        "wv": (jax.P(), jax.P("x")),
        "v16": jnp.arange(16.0),
        "row": jnp.arange(8.0),
        "within": within,
        "vw": lambda v, w: (v @ w).sum(),
        "lax_y": lambda v: jax.lax.with_sharding_constraint(v, jax.P(None, "y")),
        "seen": seen,
        "lax": jax.lax,
        "arange": jnp.arange,
        "ring": [(i, (i + 1) % 8) for i in range(8)],
    }
    names["groups"] = [[0, 2], [1, 3], [4, 5], [6, 7]]
    values = np.arange(16.0).reshape(8, 2)
    names["x"] = jax.device_put(values, names["ns"])
    names["a"] = jax.device_put(values, jax.NamedSharding(ma, jax.P("x", "y")))
    out = []
    for text in CASES:
        try:
            found = eval(text, names)
            shown = sorted(map(repr, found)) if isinstance(found, (set, frozenset)) else repr(found)
            out.append(re.sub(r"0x[0-9a-f]+", "0x", str(shown)))
        except Exception as error:
            if isinstance(error, NameError) and error.name is not None:
                raise  # a name of this file
            kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
            out.append(f"raises {kind.__name__}")
    return out


def main() -> None:
    """Write a list of (expression, JAX's result, lazynp's) as JSON."""
    import jax
    import jax.numpy as jnp

    import lazynp.jax
    import lazynp.jax.numpy

    with contextlib.redirect_stdout(io.StringIO()):
        theirs, ours = results(jax, jnp), results(lazynp.jax, lazynp.jax.numpy)
    json.dump(list(zip(CASES, theirs, ours)), sys.stdout)


if __name__ == "__main__":
    main()
