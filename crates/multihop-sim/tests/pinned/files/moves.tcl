$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$node_(1) set X_ 200.0
$node_(1) set Y_ 0.0
$node_(2) set X_ 400.0
$node_(2) set Y_ 0.0
$ns_ at 2.0 "$node_(1) setdest 200.0 400.0 100.0"
$ns_ at 8.0 "$node_(1) setdest 200.0 0.0 200.0"
