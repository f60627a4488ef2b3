//! A hub with as many connections as a busy gateway has.

use super::*;

#[test]
fn ten_thousand_connections_of_mesh_open_carry_data_and_close() {
    let mut config = windows::with_mesh(token());
    let limits = &mut config.limits;
    (limits.connections, limits.half_open, limits.backlog) = (CONNECTIONS, CONNECTIONS, CONNECTIONS);
    (limits.handshakes, limits.lingering, limits.memory) = (1_000_000, CONNECTIONS, 1 << 33);
    let mut net = Net::quiet(1);
    net.listen(listener(), &config);
    net.add(host(1), &config);
    let callers: Vec<_> = (0..CONNECTIONS).map(|_| net.hub(host(1)).connect(listener()).unwrap()).collect();
    let mut accepted = Vec::new();
    for _ in 0..100 {
        net.wait(ms(50));
        accepted.extend(std::iter::from_fn(|| net.hub(listener()).accept()));
    }
    assert_eq!(accepted.len(), CONNECTIONS);
    for (n, &id) in callers.iter().enumerate() {
        assert_eq!(net.hub(host(1)).is_connected(id), Ok(true), "connection {n}");
        assert_eq!(net.write(host(1), id, &n.to_be_bytes()), Ok(8));
        net.shutdown(host(1), id).unwrap();
    }
    net.wait(seconds(2));
    let mut seen = vec![false; CONNECTIONS];
    for &id in &accepted {
        let mut number = [0; 8];
        assert_eq!(net.hub(listener()).read(id, &mut number), Ok(Some(8)));
        assert_eq!(net.hub(listener()).read(id, &mut [0; 1]), Ok(Some(0)), "the end of the stream");
        assert!(!std::mem::replace(&mut seen[usize::from_be_bytes(number)], true), "twice");
        net.release(listener(), id);
    }
    callers.iter().for_each(|&id| net.release(host(1), id));
    net.wait(seconds(130));
    assert_eq!((net.hub(host(1)).len(), net.hub(listener()).len()), (0, 0), "connections are left");
}

const CONNECTIONS: usize = 10_000;
