# A network of nodes with one 802.11 radio each, for ns-2.35: `ns network.tcl SETTINGS`.
#
# SETTINGS is a Tcl file with the array `net`, which multihop_papers.ns2.script writes:
#   seed, duration      root of the random streams; s
#   nodes               how many there are
#   movement            file with their positions and movement in setdest's format
#   trace               file to write, in ns-2's old format
#   area                {width height} that contains all positions, m
#   routing             static, AODV or DSR
#   routes              {node destination next-hop}, for static routing
#   defaults            {class variable value} of ns-2
#   flows               {from to start agent sink attributes rate size}: TCP has rate 0
#   mac                 whether the trace contains the frames of the MAC

source [lindex $argv 0]
ns-random $net(seed)
foreach default $net(defaults) {
    lassign $default class variable value
    $class set $variable $value
}

set ns [new Simulator]
set trace [open $net(trace) w]
$ns trace-all $trace
# The names by which ns-2's own procedures and scripts of movement find them.
set ns_ $ns
set tracefd $trace

proc wireless {} {
    global ns net
    set topography [new Topography]
    $topography load_flatgrid {*}$net(area)
    create-god $net(nodes)
    set queue [expr {$net(routing) eq "DSR" ? "CMUPriQueue" : "Queue/DropTail/PriQueue"}]
    $ns node-config \
        -adhocRouting [expr {$net(routing) eq "static" ? "DumbAgent" : $net(routing)}] \
        -llType LL -macType Mac/802_11 -ifqType $queue -ifqLen 50 \
        -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
        -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] \
        -topoInstance $topography \
        -agentTrace ON -movementTrace OFF \
        -routerTrace [expr {$net(routing) eq "static" ? "OFF" : "ON"}] \
        -macTrace [expr {$net(mac) ? "ON" : "OFF"}]
    set nodes {}
    for {set i 0} {$i < $net(nodes)} {incr i} {
        set node [$ns node]
        $node random-motion 0
        if {!$net(mac)} {
            [$node set mac_(0)] drop-target [cmu-trace Drop MAC $node]
        }
        lappend nodes $node
    }
    return $nodes
}

# ns-2 has no routing agent with fixed routes over several hops. Here the classifier of a node hands a
# packet to a link layer that knows one MAC address and asks ARP for none. The interface object in
# between clears the direction in the header, without which the link layer would send the packet up.
proc static_routes {nodes routes} {
    foreach route $routes {
        lassign $route at destination via
        set node [lindex $nodes $at]
        if {![info exists hop($at,$via)]} {
            set link [new LL]
            $link mac [$node set mac_(0)]
            $link ifq [$node set ifq_(0)]
            $link down-target [$node set ifq_(0)]
            $link up-target [$node entry]
            $link set macDA_ [[[lindex $nodes $via] set mac_(0)] id]
            set hop($at,$via) [new NetworkInterface]
            $hop($at,$via) target $link
        }
        [$node entry] install $destination $hop($at,$via)
    }
}

proc flow {nodes flow} {
    global ns
    lassign $flow from to start agent sink attributes rate size
    set source [new $agent]
    foreach {variable value} $attributes {
        $source set $variable $value
    }
    set receiver [new $sink]
    $ns attach-agent [lindex $nodes $from] $source
    $ns attach-agent [lindex $nodes $to] $receiver
    $ns connect $source $receiver
    if {$rate > 0} {
        set application [new Application/Traffic/CBR]
        $application set rate_ ${rate}k
        $application set packetSize_ $size
    } else {
        set application [new Application/FTP]
    }
    $application attach-agent $source
    $ns at $start "$application start"
}

set nodes [wireless]
set god_ [God instance]
foreach node $nodes {
    set node_([$node id]) $node
}
source $net(movement)
static_routes $nodes $net(routes)
foreach flow $net(flows) {
    flow $nodes $flow
}
$ns at $net(duration) "$ns flush-trace; close $trace; $ns halt"
$ns run
