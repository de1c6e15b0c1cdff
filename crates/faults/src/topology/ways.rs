//! The way of each worker to each server, broken for one worker alone.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_testkit::servers::{Flow, Process, Proxy, ServerError, Speech, Way};

use super::{Mishap, Scene, WORKERS};

/// Of each worker, its way to each server.
pub(super) type Ways = Vec<Vec<Proxy>>;

/// A proxy for each worker and server.
pub(super) fn start(servers: &[SocketAddr], speech: Option<Speech>) -> Result<Ways, ServerError> {
    let way = |server: &SocketAddr| match speech {
        Some(speech) => Proxy::speaking(speech, *server),
        None => Proxy::start(*server),
    };
    let ways = |_| servers.iter().map(way).collect();
    (0..WORKERS).map(ways).collect()
}

/// What can happen to the ways of one worker. `speaks` if messages can be counted.
pub(super) fn menu(ways: &Ways, speaks: bool) -> Vec<Mishap<'_>> {
    let mut menu = vec![
        broken(ways, "slow network", |proxy, length| {
            // Longer than a renewal may take, shorter than the fault.
            let flow = Flow::Delay(length / 4);
            proxy.set(Way::ToServer, flow);
            proxy.set(Way::ToClient, flow);
        }),
        broken(ways, "requests lost", |proxy, _| {
            proxy.set(Way::ToServer, Flow::Hold);
        }),
        broken(ways, "replies lost", |proxy, _| {
            proxy.set(Way::ToClient, Flow::Hold);
        }),
        broken(ways, "cut off both ways", |proxy, _| proxy.partition()),
        broken(ways, "connections reset", |proxy, _| drop(proxy.cut())),
        broken(ways, "flows forgotten", |proxy, _| proxy.silence()),
        broken(ways, "requests late", |proxy, _| proxy.hold_back()),
        broken(ways, "connections refused", |proxy, _| {
            let _ = proxy.refuse();
            let _ = proxy.cut();
        }),
        broken(ways, "byte by byte", |proxy, _| {
            let flow = Flow::Drip(Duration::from_millis(4));
            proxy.set(Way::ToServer, flow);
            proxy.set(Way::ToClient, flow);
        }),
        Mishap::new("cut in a reply", move |scene| {
            let at = scene.one(ways.len());
            cut_often(&ways[at], Way::ToClient, scene)
        }),
        Mishap::new("cut in a request", move |scene| {
            let at = scene.one(ways.len());
            cut_often(&ways[at], Way::ToServer, scene)
        }),
    ];
    if speaks {
        menu.push(Mishap::new("silent after a message", move |scene| {
            let at = scene.one(ways.len());
            let is_forgotten = scene.chance.bool();
            if is_forgotten {
                // Those that were forgotten before, or the server would soon have no session left.
                ways.iter().flatten().try_for_each(Proxy::cut)?;
            }
            for way in &ways[at] {
                way.partition_after(scene.chance.u64(1..12));
            }
            scene.wait(1.0);
            if is_forgotten {
                // The server never hears of the end of what it has begun.
                ways[at].iter().for_each(Proxy::silence);
            }
            ways[at].iter().try_for_each(Proxy::heal)
        }));
    }
    menu
}

/// Breaks all ways of a worker, or one of them; what was held is delivered or, as chance will,
/// lost in the end.
fn broken<'a>(
    ways: &'a Ways,
    name: &'static str,
    breaks: impl Fn(&Proxy, Duration) + Send + Sync + 'a,
) -> Mishap<'a> {
    Mishap::new(name, move |scene| {
        let of_worker = &ways[scene.one(ways.len())];
        let only = scene.one(of_worker.len() * 2);
        let some = |at: &usize| only >= of_worker.len() || *at == only;
        let some: Vec<_> = (0..of_worker.len()).filter(some).collect();
        some.iter()
            .for_each(|at| breaks(&of_worker[*at], scene.length));
        scene.wait(1.0);
        let is_lost = scene.chance.bool();
        some.iter().try_for_each(|at| {
            if is_lost {
                of_worker[*at].cut()?;
            }
            of_worker[*at].heal()
        })
    })
}

/// Cuts again and again, each time somewhere else in what is said that way.
pub(super) fn cut_often<'a>(
    proxies: impl IntoIterator<Item = &'a Proxy> + Clone,
    way: Way,
    scene: &mut Scene<'_>,
) -> Result<(), ServerError> {
    for _ in 0..6 {
        for proxy in proxies.clone() {
            proxy.cut_after(way, scene.chance.u64(0..300));
        }
        scene.wait(1.0 / 6.0);
    }
    proxies.into_iter().try_for_each(Proxy::heal)
}

/// Ends every disturbance.
pub(super) fn heal(ways: &Ways) -> Result<(), ServerError> {
    ways.iter().flatten().try_for_each(Proxy::heal)
}

/// What can happen to a server as a process, alone or one of several.
pub(super) fn server_menu<'a, S>(servers: &'a [S]) -> Vec<Mishap<'a>>
where
    S: std::ops::Deref<Target = Process> + Sync,
{
    vec![
        Mishap::new("server stopped", move |scene| {
            let server = &servers[scene.one(servers.len())];
            server.pause()?;
            scene.wait(1.0);
            // Killed meanwhile, it is started again in the end.
            let _ = server.resume();
            Ok(())
        }),
        Mishap::new("server killed", move |scene| {
            let server = &servers[scene.one(servers.len())];
            kill(server)?;
            scene.wait(0.5);
            let _ = server.spawn();
            Ok(())
        }),
    ]
}

/// A server's disk is full for a while. Most end by themselves then, and are begun anew.
pub(super) fn disk_full<S>(servers: &[S]) -> Mishap<'_>
where
    S: std::ops::Deref<Target = Process> + Sync,
{
    Mishap::new("server's disk full", move |scene| {
        let server = &servers[scene.one(servers.len())];
        server.fill_disk(true)?;
        scene.wait(1.0);
        server.fill_disk(false)
    })
}

/// Kills a server, unless another mishap has.
pub(super) fn kill(server: &Process) -> Result<(), ServerError> {
    match server.pid() {
        Some(_) => server.kill(),
        None => Err(ServerError::new("it is dead")),
    }
}

/// All of them run, and answer.
pub(super) fn mend_servers<S>(servers: &[S]) -> Result<(), ServerError>
where
    S: std::ops::Deref<Target = Process>,
{
    for server in servers {
        server.fill_disk(false)?;
        // One that does not run cannot go on, and is started.
        let _ = server.resume();
        server.spawn()?;
    }
    servers.iter().try_for_each(|server| {
        // One that was just ending is started once more.
        let is_ready = server.wait_ready();
        is_ready.or_else(|_| server.start())
    })
}
