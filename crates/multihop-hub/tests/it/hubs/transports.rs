//! Callers with different transports at one listener that has all of them.

use multihop_transport::tpa;

use super::*;

#[test]
fn a_caller_from_the_port_of_a_lingering_connection_of_another_transport_is_accepted() {
    let [tpa, mesh] = [plain(), windows::with_mesh(plain())];
    let both = Config { or_tpa: Some(tpa::Config::net()), ..mesh.clone() };
    for [first, second] in [[&tpa, &mesh], [&mesh, &tpa]] {
        let mut net = Net::quiet(1);
        net.listen(listener(), &both);
        let mut earlier = [net.call(host(1), first, listener(), 10)];
        net.finish(seconds(1), &mut earlier);
        for (at, id) in [earlier[0].from, earlier[0].to.unwrap()] {
            net.shutdown(at, id).unwrap();
            net.release(at, id);
        }
        net.wait(seconds(1));
        assert_eq!(net.hub(listener()).lingering(), 1);
        // `call` replaces the hub at this address.
        let mut later = [net.call(host(1), second, listener(), 10)];
        net.finish(seconds(1), &mut later);
    }
}
